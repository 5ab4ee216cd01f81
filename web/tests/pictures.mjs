// Takes the pictures of docs/ui.md from a controller that works: `make pictures`, while `make demo` runs. All that they show is real.
// WEIR_URL, WEIR_PASSWORD, WEIR_CHROMIUM; WEIR_PICTURES: directory; WEIR_ONLY: names, separated by commas.
import { chromium } from 'playwright-core'

const { WEIR_URL: url, WEIR_PASSWORD: password, WEIR_CHROMIUM: executablePath, WEIR_PICTURES: directory = '.', WEIR_ONLY: only = '' } = process.env
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', colorScheme: 'light' })
const page = await context.newPage()
page.setDefaultTimeout(30_000)

await page.goto(url)
await page.getByLabel('User', { exact: true }).fill('admin')
await page.getByLabel('Password', { exact: true }).fill(password)
await page.keyboard.press('Enter')
await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

/** Where the first link of a list leads. */
async function first(list, prefix) {
  await page.goto(url + list)
  return page.locator(`main a[href*="${prefix}"]`).first().getAttribute('href')
}
const service = await first('/services', '/services/')
const engine = await first('/infrastructure', '/engines/')
await page.goto(url + service)
const pool = await page.locator('main a[href*="/pools/"]:not([href*="server="])').first().getAttribute('href')

const charts = () => page.locator('canvas').first().waitFor()
const rows = () => page.locator('[data-row]').first().waitFor()

async function box() {
  const heat = page.getByRole('img', { name: /^Latency of the requests/ })
  await heat.scrollIntoViewIfNeeded()
  const { x, y, width, height } = await heat.boundingBox()
  await page.mouse.move(x + width * 0.84, y + height * 0.01)
  await page.mouse.down()
  await page.mouse.move(x + width * 0.95, y + height * 0.1)
  await page.mouse.move(x + width * 0.999, y + height * 0.16)
  await page.mouse.up()
  await page.getByRole('table', { name: /differs/ }).waitFor()
  await page.getByRole('heading', { name: 'Latency of requests' }).evaluate((element) => window.scrollBy(0, element.getBoundingClientRect().top - 70))
}

// A rule that what is slow now fits, so that there is an alert. It goes with its alerts at the end.
async function api(method, path, body) {
  return page.evaluate(
    async ([method, path, body]) => {
      const token = /csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? ''
      const answer = await fetch(`/api/${path}`, { method, headers: { 'Content-Type': 'application/json', 'X-CSRFToken': token }, body: body && JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
      return method === 'DELETE' ? undefined : answer.json()
    },
    [method, path, body],
  )
}
const made = []
async function alert() {
  made.unshift(await api('POST', 'actiongroupconfig', { name: 'on duty', level: 'ALERT_HIGH' }))
  const metric = { metric_id: 'weir.p99_total_time', metric_threshold: { comparator: 'ALERT_OP_GT', threshold: 100 }, duration: 5 }
  made.unshift(await api('POST', 'alertconfig', { name: 'slow for 1 % of requests', source: 'METRICS', category: 'WATERMARK', object_type: 'VIRTUALSERVICE', action_group_ref: made[0].url, alert_rule: { metrics_rule: [metric] } }))
  await page.locator('[data-row]').first().waitFor()
}

async function fillIn() {
  for (const [label, text] of [['Name', 'checkout'], ['Address', '3.3.3.4'], ['Host name', 'checkout.example.com'], ['Servers', '10.2.0.11-13:80']]) await page.getByLabel(label, { exact: true }).fill(text)
}

/** Pictures: where, what to do there, how high; "page" is all of it. */
const pictures = [
  { name: 'overview', at: '/', ready: () => page.locator('main a[href*="/services/"]').first().waitFor(), high: 620 },
  { name: 'service', at: service, ready: charts, high: 'page' },
  { name: 'history', at: `${service}?from=now-15m&m=engines`, theme: 'dark', ready: async () => { await charts(); await page.getByRole('button', { name: /^Time: / }).click() }, high: 960 },
  { name: 'heat', at: service, ready: box, high: 660 },
  { name: 'health', at: service, ready: () => page.getByRole('button', { name: /^Health of .*: \d+/ }).click(), high: 560 },
  { name: 'logs', at: `${service}/logs?f=${encodeURIComponent('total:>100ms OR status:>=500')}`, ready: rows, high: 760 },
  { name: 'record', at: `${service}/logs?f=${encodeURIComponent('total:>100ms')}`, theme: 'dark', ready: async () => { await rows(); await page.locator('[data-row] [data-open]').first().click(); await page.getByRole('button', { name: 'What would happen now' }).click(); await page.getByRole('columnheader', { name: /^Now, at/ }).waitFor() }, high: 760 },
  { name: 'pool', at: pool, ready: charts, high: 720 },
  { name: 'infrastructure', at: '/infrastructure', ready: rows, high: 'page' },
  { name: 'engine', at: engine, theme: 'dark', ready: charts, high: 760 },
  { name: 'security', at: '/security', ready: rows, high: 'page' },
  { name: 'events', at: '/events', ready: rows, high: 620 },
  { name: 'audit', at: '/audit', ready: rows, high: 480 },
  { name: 'objects', at: '/objects', high: 620 },
  { name: 'form', at: '/objects/pool/' + /pools\/([^?/]+)/.exec(pool)[1], high: 720 },
  { name: 'settings', at: '/settings/users', high: 640 },
  { name: 'new', at: '/new', ready: fillIn, high: 'page' },
  { name: 'narrow', at: '/services', wide: 360, ready: rows, high: 700 },
  { name: 'alerts', at: '/alerts', ready: alert, high: 480 }, // last: it changes something
]

for (const { name, at, theme = 'light', ready, high, wide = 1280 } of pictures) {
  if (only && !only.split(',').includes(name)) continue
  try {
    await page.setViewportSize({ width: wide, height: high === 'page' ? 800 : high })
    await page.goto(url + at)
    await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForFunction(() => !document.body.textContent.includes('Loading…'))
    await ready?.()
    // Charts and lists have what comes in the first seconds.
    await page.waitForTimeout(2500)
    await page.screenshot({ path: `${directory}/ui-${name}.png`, fullPage: high === 'page' })
    console.log(name)
  } catch (error) {
    console.error(`${name}: ${error.message.split('\n')[0]}`)
    process.exitCode = 1
  }
}
for (const one of made) await api('DELETE', one.url.replace(/^.*\/api\//, ''))
await browser.close()
