// What the measuring scripts share: a browser in which somebody has logged in.
import { chromium } from 'playwright-core'

const { WEIR_URL: url, WEIR_PASSWORD: password, WEIR_CHROMIUM: executablePath } = process.env

/** Starts a browser and logs in. */
export async function begin() {
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
  return { browser, context, url }
}
