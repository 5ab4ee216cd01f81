// Looks at what strangers sent, on all pages that show it: each text is text, and does nothing. tests/pages starts it.
// WEIR_HOSTILE is a file with the requests that were sent, and the names of objects.
import { readFileSync } from 'node:fs'
import { browser, expectRefusals, heading, hold, logIn, page, step, url } from './stage.mjs'

const { sent, names } = JSON.parse(readFileSync(process.env.WEIR_HOSTILE, 'utf8'))
const headers = { 'X-Avi-Version': '30.2.1', Accept: 'application/json' }

/** What the API answers, as it is. */
const api = (path) => page.evaluate(async ([path, headers]) => (await fetch(path, { headers })).json(), [path, headers])

/** A value as the API has it, of one that a page shows. */
function meant(shown) {
  return shown.replace(/\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/g, (_, long, short, byte) => (byte ? String.fromCodePoint(0x10fe00 + parseInt(byte, 16)) : String.fromCodePoint(parseInt(long ?? short, 16))))
}

const hasEscapes = (text) => /\\u\{[0-9a-f]+\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}/.test(text)

/** Nothing on the page is made of what strangers sent but text, and no text hides or turns another one. */
async function inert(where) {
  const found = await page.evaluate(() => {
    const wrong = []
    const elements = document.querySelectorAll('img, iframe, object, embed, base, form[action*="evil"], link[href*="evil"], a[href^="javascript:" i], a[href*="evil"], [src*="evil"]')
    wrong.push(...[...elements].map((element) => element.outerHTML.slice(0, 200)))
    const hides = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]|[\u{10fe00}-\u{10feff}]/u
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name) || hides.test(value)) wrong.push(`${element.tagName} ${name}=${value.slice(0, 100)}`)
      }
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) if (hides.test(walker.currentNode.data)) wrong.push(`text ${JSON.stringify(walker.currentNode.data.slice(0, 100))}`)
    if (document.querySelectorAll('script').length !== 2) wrong.push(`${document.querySelectorAll('script').length} scripts`)
    if (/^owned|owned$/.test(document.title)) wrong.push(`the title is ${document.title}`)
    return wrong
  })
  hold(found.length === 0, `${where}: ${found.slice(0, 5).join('\n')}`)
}

/** Goes to a page, and waits until it has read what it shows. */
async function open(path) {
  await page.goto(url + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => ![...document.querySelectorAll('[role=status]')].some((one) => one.textContent === 'Loading…'))
}

/** Goes on without loading the page again, as Back does. */
const turn = (path) => page.evaluate((path) => (history.pushState(null, '', path), window.dispatchEvent(new PopStateEvent('popstate'))), path)

/** Opens the record of a request. */
async function record(fields) {
  const id = ids.get(keyOf(fields))
  await turn(`/logs?follow=off&sel=${encodeURIComponent(id)}`)
  const opened = page.getByRole('dialog')
  await opened.locator('dl > div').filter({ has: page.locator('dd > span', { hasText: id }) }).waitFor()
  return opened
}

expectRefusals(/status of (400|401|404|419)/) // an engine may be asked no question about some hosts and methods

const ids = new Map()
const keyOf = (fields) => JSON.stringify([fields.http_version, fields.uri_path])

await step('the records of all requests are there', async () => {
  await logIn('/logs')
  await heading('Logs')
  await page.getByRole('combobox', { name: 'Search requests' }).waitFor()
  for (const until = Date.now() + 60_000; ids.size < sent.length && Date.now() < until; ) {
    const { results } = await api('/api/analytics/logs?type=1&virtualservice=strangers&page_size=10000')
    for (const record of results) ids.set(keyOf(record), record.request_id)
    await page.waitForTimeout(200)
  }
  const without = sent.filter(({ fields }) => !ids.has(keyOf(fields))).map(({ name }) => name)
  hold(without.length === 0, `there is no record of ${without}`)
})

await step('a list of all records is text', async () => {
  await open('/logs')
  await page.locator('[data-row]').first().waitFor()
  await inert('the list')
  await page.evaluate(() => document.querySelectorAll('details').forEach((one) => (one.open = true)))
  await inert('the most frequent values')
})

await step('each record shows the exact value of each field', async () => {
  await open('/logs?follow=off')
  for (const { name, fields } of sent) {
    const opened = await record(fields)
    const way = opened.getByRole('region', { name: 'The way of the request' })
    await way.getByText(/It took .* in all/).waitFor()
    const now = way.getByRole('button', { name: 'What would happen now' })
    if (fields.http_version === '1.1' && (await now.count()) > 0) {
      await now.click()
      await way.getByText(/^as of |leads nowhere|could not be asked|No engine serves it/).waitFor()
    }
    const shown = await opened.evaluate((dialog) => Object.fromEntries([...dialog.querySelectorAll('dl > div')].map((row) => [row.querySelector('dt').textContent, row.querySelector('dd > span').textContent])))
    for (const [field, value] of Object.entries(fields)) {
      const text = shown[field] ?? ''
      hold(text === value || (hasEscapes(text) && meant(text) === value), `${name}: ${field} reads ${text}, and is ${JSON.stringify(value)}`)
    }
    await inert(name)
  }
})

await step('a value that a record shows finds its records', async () => {
  for (const { name, fields } of sent.filter(({ fields }) => fields.http_version === '1.1')) {
    for (const [field, short] of [['uri_path', 'path'], ['user_agent', 'ua'], ['referer', 'referer'], ['host', 'host']]) {
      const row = (await record(fields)).locator('dl > div').filter({ has: page.locator('dt', { hasText: new RegExp(`^${field}$`) }) })
      await row.getByRole('button', { name: new RegExp(`^Only ${short} `) }).click()
      await page.waitForFunction((short) => new URL(location.href).searchParams.get('f')?.startsWith(`${short}:`) && document.querySelectorAll('[data-row]').length >= 2, short).catch(() => {
        throw new Error(`${name}: only ${short} finds less than both of its requests: ${page.url()}`)
      })
    }
    await inert(`${name}, found`)
  }
})

await step('files of records are inert', async () => {
  await open('/logs?follow=off')
  await page.locator('[data-row]').first().waitFor()
  const saved = async (item) => {
    await page.getByRole('button', { name: 'Records: table, export' }).click()
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: item }).click()])
    return readFileSync(await file.path(), 'utf8')
  }
  const table = await saved('Save as CSV')
  const first = [...table.matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)].map(([, quoted, bare]) => (quoted ?? bare ?? '')[0])
  hold(!first.some((character) => /[=+@\t\r\n＝＋－＠]/.test(character ?? '')), `a cell of the table begins with one of ${[...new Set(first)]}`)
  hold(!/[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u200b]/.test(table), 'the table has control characters')
  const records = JSON.parse(await saved('Save as JSON'))
  hold(records.length > 0 && records.every((record) => typeof record.request_id === 'string'), 'the file has no records')
})

await step('objects with hostile names are text on their pages', async () => {
  const { results } = await api('/api/virtualservice?page_size=200&fields=name')
  hold(names.every((name) => results.some((object) => object.name === name)), 'a service has another name')
  for (const { uuid, name } of results) {
    await open(`/services/${uuid}`)
    await inert(name)
  }
})

await step('all other pages that name them are text', async () => {
  for (const path of ['/', '/services', '/events', '/audit', '/alerts', '/infrastructure', '/security', '/objects', '/objects/pool', '/logs?kind=connections', '/audit?f=script', '/services?f=script']) {
    await open(path)
    await inert(path)
  }
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Page or object' }).fill('script')
  await page.getByRole('option').first().waitFor()
  await inert('the palette')
})

await browser.close()
