// Scrolls through the table of services, and prints one JSON object: rows, frames a second, the longest frame. The page
// scrolls by a third of its height in each frame, and so has new rows to draw in each. `weir bench telemetry` starts it.
import { begin } from './measuring.mjs'

const { WEIR_ROWS: least = '1', WEIR_SECONDS: seconds = '5' } = process.env
const { browser, context, url } = await begin()
const page = await context.newPage()
page.setDefaultTimeout(60_000)
await page.goto(`${url}/services`)
await page.waitForFunction((least) => Number(document.querySelector('[role=table]')?.getAttribute('aria-rowcount') ?? 0) > least, Number(least))
const found = await page.evaluate(async (ms) => {
  const frames = []
  let blank = 0
  let down = 260
  const begun = performance.now()
  for (let last = begun; last - begun < ms; ) {
    window.scrollBy(0, down)
    if (window.scrollY + innerHeight >= document.documentElement.scrollHeight || window.scrollY === 0) down = -down
    await new Promise(requestAnimationFrame)
    const at = performance.now()
    // What the reader sees in the middle of the page is a row.
    if (!document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('[data-row]')) blank++
    frames.push(at - last)
    last = at
  }
  return { frames, blank }
}, Number(seconds) * 1000)
const rows = Number(await page.locator('[role=table]').getAttribute('aria-rowcount')) - 1
await browser.close()
const total = found.frames.reduce((sum, frame) => sum + frame, 0)
console.log(JSON.stringify({ rows, frames: found.frames.length, fps: (1000 * found.frames.length) / total, longest_ms: Math.max(...found.frames), blank: found.blank }))
