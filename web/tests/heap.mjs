// Goes from page to page, as somebody who works with them for hours, only faster; and prints one JSON object: the heap of the page
// after garbage collections, and by how much it grows in an hour. `weir bench telemetry` starts it.
import { begin } from './measuring.mjs'

const { WEIR_SECONDS: seconds = '60' } = process.env
const { browser, context, url } = await begin()
const page = await context.newPage()
page.setDefaultTimeout(20_000)
await page.goto(url)
await page.locator('main a[href*="/services/"]').first().waitFor()
const cdp = await context.newCDPSession(page)
const samples = []
const begun = performance.now()
const elapsed = () => (performance.now() - begun) / 1000
const nav = (name) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
let pages = 0
while (elapsed() < Number(seconds)) {
  for (const name of ['Services', 'Logs', 'Infrastructure', 'Security', 'Alerts', 'Events', 'Services']) {
    await nav(name)
    await page.getByRole('heading', { level: 1, name }).waitFor()
    pages++
  }
  await page.locator('main a[href*="/services/"]').first().click()
  await page.locator('canvas').first().waitFor()
  await page.waitForTimeout(2500)
  await nav('Overview')
  await page.locator('main a[href*="/services/"]').first().waitFor()
  pages += 2
  // Twice: what the first one frees may hold more.
  await cdp.send('HeapProfiler.collectGarbage')
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  samples.push({ s: elapsed(), mib: usedSize / 2 ** 20, nodes })
  if (process.env.WEIR_DETAILS) console.error(JSON.stringify(samples.at(-1)))
}
await browser.close()

// Series and answers of the API are kept for five minutes at most: until then, a heap grows.
const settled = samples.filter((sample) => sample.s > Number(seconds) / 2)
console.log(JSON.stringify({ mib: samples.at(-1).mib, mib_per_h: slope(settled) * 3600, pages, seconds: elapsed(), samples: settled.length }))

/** By least squares, in MiB a second. */
function slope(samples) {
  const mean = (of) => samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length
  const s = mean((sample) => sample.s)
  const mib = mean((sample) => sample.mib)
  const across = samples.reduce((sum, sample) => sum + (sample.s - s) ** 2, 0)
  return samples.reduce((sum, sample) => sum + (sample.s - s) * (sample.mib - mib), 0) / across
}
