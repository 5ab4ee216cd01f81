// What all flows have: a browser with one page, steps, and what no page may do. Each step prints one JSON line:
// {"step", "failed"?, "details"?}. WEIR_PICTURES=dir keeps pictures of the pages.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

export const { WEIR_URL: url, WEIR_PASSWORD: password, WEIR_CHROMIUM: executablePath, WEIR_PICTURES: pictures } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
export const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', colorScheme: 'light' })
export const page = await context.newPage()
page.setDefaultTimeout(90_000) // on a machine that is busy; what is right comes long before

// Answers that a flow asks for. The browser writes each into its console.
const usual = /status of (401|404|419)/
let refusals = usual

export function expectRefusals(pattern = usual) {
  refusals = pattern
}

// What no page may do, in any step: break the policy, throw, or run what a stranger wrote.
const faults = []
page.on('console', (message) => {
  if (/Content.Security.Policy|Trusted.?Type|TrustedHTML/i.test(message.text())) faults.push(`policy: ${message.text()}`)
  else if (message.type() === 'error' && !refusals.test(message.text())) faults.push(`console: ${message.text()}`)
})
page.on('pageerror', (error) => faults.push(`thrown: ${error.message}`))
page.on('dialog', (dialog) => {
  faults.push(`dialog: ${dialog.type()} ${dialog.message()}`)
  void (dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss())
})
await page.addInitScript(() => {
  document.addEventListener('securitypolicyviolation', (event) => console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))
})

export async function step(name, does) {
  const line = { step: name }
  try {
    await does()
  } catch (error) {
    line.failed = error.message.split('\n').slice(0, 12).join('\n')
    line.details = [page.url()]
  }
  const seen = faults.splice(0)
  if (seen.length > 0) {
    line.failed ??= 'the browser complained'
    line.details = [...(line.details ?? []), ...seen]
  }
  console.log(JSON.stringify(line))
}

export function hold(condition, what) {
  if (!condition) throw new Error(what)
}

/** Waits until the page has a URL that fits: it changes a moment after the key that changes it. */
export async function leads(fits, what) {
  await page.waitForURL(fits).catch(() => hold(false, `${what}: ${page.url()}`))
}

export async function picture(name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` })
}

export const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor()

export async function accessible() {
  // A function is not text to the policy: the browser's debugger brings it in.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  // What is partly behind the header, because the page is scrolled, would count as a small target.
  await page.evaluate(() => window.scrollTo(0, 0))
  const result = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }))
  const found = result.violations
  hold(found.length === 0, found.map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`).join('\n'))
}

/** Logs in at a path, as a person does. */
export async function logIn(path, username = 'admin', secret = password) {
  await page.goto(url + path)
  await page.getByLabel('User', { exact: true }).fill(username)
  await page.getByLabel('Password', { exact: true }).fill(secret)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Log in' }).waitFor({ state: 'detached' })
}

/** Nothing is wider than a page of 360 px, and nothing is inaccessible there, in both themes. */
export async function holdsEverywhere(paths, name) {
  for (const path of paths) {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForFunction(() => ![...document.querySelectorAll('[role=status]')].some((one) => one.textContent === 'Loading…'))
    for (const theme of ['dark', 'light']) {
      await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme)
      await accessible()
      await picture(`${name(path)}-${theme}`)
    }
    await page.setViewportSize({ width: 360, height: 740 })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    hold(wide <= 0, `${path} is ${wide} px wider than the page`)
    await accessible()
    await picture(`${name(path)}-360`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}
