// Measures the pages in a browser, and prints one JSON object: what the first page loads, when it is painted and shows
// its figures, and how long clicks and keys take. `weir bench telemetry` starts it.
import { chromium } from 'playwright-core'

const { WEIR_URL: url, WEIR_PASSWORD: password, WEIR_CHROMIUM: executablePath, WEIR_ROUNDS: rounds = '3' } = process.env

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })

const first = await context.newPage()
first.setDefaultTimeout(20_000)
await first.goto(url)
await first.getByLabel(/user/i).first().fill('admin')
await first.getByLabel(/password/i).first().fill(password)
await first.keyboard.press('Enter')
await first.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
await first.close()

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
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.interactionId) window.seen.set(entry.interactionId, Math.max(window.seen.get(entry.interactionId) ?? 0, entry.duration))
    }
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })
})
await page.goto(url)
await page.locator('main a[href*="/services/"]').first().waitFor()
let pressed = 0
const act = async (does) => {
  await does()
  pressed++
  await page.waitForTimeout(150)
}
for (let round = 0; round < Number(rounds); round++) {
  for (const name of ['Services', 'Infrastructure', 'Events', 'Audit', 'Services']) {
    await act(() => page.getByRole('navigation').getByRole('link', { name, exact: true }).click())
  }
  const filter = page.getByRole('searchbox').or(page.getByPlaceholder(/filter/i)).first()
  await act(() => filter.click())
  for (const key of 'page-1') await act(() => page.keyboard.press(key))
  await act(() => page.locator('main a[href*="/services/"]').first().click())
  await act(() => page.getByRole('navigation').getByRole('link', { name: 'Overview', exact: true }).click())
}
const slow = await page.evaluate(() => [...window.seen.values()])
// What took less than 16 ms, the browser does not report.
const took = [...slow, ...Array(Math.max(0, pressed - slow.length)).fill(16)].toSorted((a, b) => a - b)
await browser.close()

const most = (of) => Math.max(...loads.map(of))
console.log(
  JSON.stringify({
    kib: most((load) => load.bytes) / 1024,
    paint_ms: most((load) => load.paint),
    usable_ms: most((load) => load.usable),
    interaction_p95_ms: took[Math.ceil(0.95 * took.length) - 1],
    interactions: pressed,
    loads: loads.length,
  }),
)
