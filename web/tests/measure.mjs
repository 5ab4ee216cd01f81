// Measures the pages in a browser, and prints one JSON object: what the first page loads, when it is painted and shows
// its figures, and how long clicks and keys take. `weir bench telemetry` starts it.
import { begin } from './measuring.mjs'

const { WEIR_ROUNDS: rounds = '3' } = process.env
const { browser, context, url } = await begin()

// Each load has an empty cache: a new context with the session of the first.
const loads = []
for (let round = 0; round < Number(rounds); round++) {
  const fresh = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, storageState: await context.storageState() })
  const page = await fresh.newPage()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('main a[href*="/services/"]').first().waitFor({ timeout: 20_000 })
  loads.push(
    await page.evaluate(() => {
      const usable = performance.now()
      const painted = performance.getEntriesByName('first-paint')[0] ?? performance.getEntriesByName('first-contentful-paint')[0]
      const own = [performance.getEntriesByType('navigation')[0], ...performance.getEntriesByType('resource')].filter((entry) => !new URL(entry.name).pathname.startsWith('/api/'))
      return { usable, paint: painted?.startTime ?? usable, bytes: own.reduce((sum, entry) => sum + entry.encodedBodySize, 0) }
    }),
  )
  await fresh.close()
}

const page = await context.newPage()
page.setDefaultTimeout(20_000)
await page.addInitScript(() => {
  window.seen = new Map()
  window.heads = []
  const heads = () => {
    const text = document.querySelector('h1')?.textContent
    if (text && window.heads.at(-1)?.text !== text) requestAnimationFrame(() => setTimeout(() => window.heads.push({ text, at: performance.now() })))
  }
  document.addEventListener('DOMContentLoaded', () => new MutationObserver(heads).observe(document.body, { childList: true, subtree: true, characterData: true }))
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.interactionId || (window.seen.get(entry.interactionId)?.took ?? 0) >= entry.duration) continue
      const { startTime: at, duration: took, processingStart, processingEnd, name } = entry
      window.seen.set(entry.interactionId, { at, took, event: name, waited: processingStart - at, worked: processingEnd - processingStart, painted: Math.max(0, at + took - processingEnd) })
    }
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })
})
await page.goto(url)
await page.locator('main a[href*="/services/"]').first().waitFor()

// What was done, and when: a slow entry of the browser belongs to the last one that began before it.
const acts = []
const act = async (name, does) => {
  acts.push({ name, at: await page.evaluate(() => performance.now()) })
  await does()
  await page.waitForTimeout(150)
}
for (let round = 0; round < Number(rounds); round++) {
  for (const name of ['Services', 'Infrastructure', 'Events', 'Audit', 'Services']) {
    await act(`to ${name}`, () => page.getByRole('navigation').getByRole('link', { name, exact: true }).click())
  }
  const filter = page.getByRole('searchbox').or(page.getByPlaceholder(/filter/i)).first()
  await act('into the filter', () => filter.click())
  for (const key of 'page-1') await act(`key ${key} in the filter`, () => page.keyboard.press(key))
  await act('to a service', () => page.locator('main a[href*="/services/"]').first().click())
  await act('to Overview', () => page.getByRole('navigation').getByRole('link', { name: 'Overview', exact: true }).click())
}
// A page is there when its heading is painted.
const heads = await page.evaluate(() => window.heads)
const pages = acts
  .filter((act) => act.name.startsWith('to '))
  .map((act) => (heads.find((head) => head.at > act.at)?.at ?? Infinity) - act.at)
  .toSorted((a, b) => a - b)
const slow = (await page.evaluate(() => [...window.seen.values()])).map((entry) => ({ ...entry, act: acts.findLast((one) => one.at <= entry.at)?.name ?? 'before' }))
// What took less than 16 ms, the browser does not report.
const took = [...slow.map((entry) => entry.took), ...Array(Math.max(0, acts.length - slow.length)).fill(16)].toSorted((a, b) => a - b)
await browser.close()

const most = (of) => Math.max(...loads.map(of))
const slowest = slow.toSorted((a, b) => b.took - a.took)
if (process.env.WEIR_DETAILS) for (const one of slowest.slice(0, 25)) console.error(`${one.act}: ${one.event} ${one.took} ms: waited ${one.waited.toFixed(0)}, worked ${one.worked.toFixed(0)}, painted ${one.painted.toFixed(0)}`)
console.log(
  JSON.stringify({
    kib: most((load) => load.bytes) / 1024,
    paint_ms: most((load) => load.paint),
    usable_ms: most((load) => load.usable),
    interaction_p95_ms: took[Math.ceil(0.95 * took.length) - 1],
    interactions: acts.length,
    slowest: slowest.slice(0, 3).map((one) => ({ act: one.act, ms: one.took, waited_ms: Math.round(one.waited), worked_ms: Math.round(one.worked), painted_ms: Math.round(one.painted) })),
    page_p95_ms: pages[Math.ceil(0.95 * pages.length) - 1],
    loads: loads.length,
  }),
)
