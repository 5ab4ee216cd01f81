// Goes through the pages as a person does, and prints one JSON line for each step: {"step", "failed"?, "details"?}.
// tests/pages starts it with a controller under load. WEIR_PICTURES=dir keeps pictures of the pages.
import { readFileSync } from 'node:fs'
import { accessible, browser, context, expectRefusals, heading, hold, leads, page, password, picture, step, url } from './stage.mjs'

/** Drags over a part of an element, in shares of its width and height. */
async function drag(locator, from, to, top = 0.5, bottom = 0.5) {
  await locator.scrollIntoViewIfNeeded()
  const box = await locator.boundingBox()
  await page.mouse.move(box.x + box.width * from, box.y + box.height * top)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + box.height * ((top + bottom) / 2))
  await page.mouse.move(box.x + box.width * to, box.y + box.height * bottom)
  await page.mouse.up()
}

/** The text of the file that an item of a menu saves. */
async function saved(menu, item) {
  await page.getByRole('button', { name: menu }).click()
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: item }).click()])
  return readFileSync(await file.path(), 'utf8')
}

/** Has a path answered by other means while something is done. */
async function answered(path, by, does) {
  await page.route(path, by)
  try {
    await does()
  } finally {
    await page.unroute(path)
  }
}

/** Has a path refused while something is done. */
async function refused(path, status, error, does) {
  expectRefusals(new RegExp(`status of ${status}`))
  try {
    await answered(path, (route) => route.fulfill({ status, json: { error } }), does)
  } finally {
    expectRefusals()
  }
}

let shop = ''
let engine = ''

await step('a wrong password is refused, and says so', async () => {
  await page.goto(`${url}/services?f=shop`)
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').filter({ hasText: /invalid/i }).waitFor()
  await accessible()
  await picture('login')
})

await step('a login leads to the page of the URL, with its filter', async () => {
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await heading('Services')
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor()
  hold((await page.getByRole('searchbox').inputValue()) === 'shop', 'the filter of the URL is not in its field')
  hold((await page.locator('[data-row]').count()) === 1, 'the filter hides nothing')
})

await step('clearing the filter shows all services, and the state is in the URL', async () => {
  await page.getByRole('searchbox').press('Escape')
  await page.getByRole('link', { name: 'broken', exact: true }).waitFor()
  await leads((at) => !at.href.includes('f='), 'the URL still has the filter')
  await page.getByRole('button', { name: /DOWN/ }).click()
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor({ state: 'detached' })
  await leads((at) => at.href.includes('state=DOWN'), 'the URL does not have the state')
  await page.reload()
  await page.getByRole('link', { name: 'broken', exact: true }).waitFor()
  hold((await page.getByRole('link', { name: 'shop', exact: true }).count()) === 0, 'the state is lost when the page is loaded again')
  await page.getByRole('button', { name: /DOWN/ }).click()
})

await step('a filter that hides all says so, and how to go on', async () => {
  await page.keyboard.press('/')
  await page.keyboard.type('no such service')
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor()
  await page.mouse.move(2, 700)
  await page.waitForFunction(() => document.querySelector('[data-row]')?.textContent?.includes('broken'))
  await accessible()
  await picture('services')
})

await step('a table is saved as it is shown, and no cell is a formula', async () => {
  const text = await saved('Virtual services: table, export', 'Save as CSV')
  hold(text.startsWith('Name,State,Health,') && /\r\nshop,OPER_UP,/.test(text), `the file begins with ${text.slice(0, 120)}`)
  hold(!/(^|\n|,)[=+@-](?!\d)/.test(text), `a cell is a formula in ${text}`)
})

await step('hostile names are text', async () => {
  const text = await page.locator('[data-row]', { hasText: 'hostile' }).textContent()
  hold(text.includes('<img src=x onerror=') && text.includes('\\u202e') && text.includes('\\u200b'), `the name is ${text}`)
  await page.locator('[data-row]', { hasText: 'hostile' }).getByRole('link').click()
  await page.getByRole('heading', { level: 1 }).filter({ hasText: 'hostile <img' }).waitFor()
  await page.getByText('Where the time goes').waitFor()
  hold((await page.locator('img').count()) === 0, 'there is an image')
  hold((await page.title()).includes('Weir') && !(await page.title()).includes('owned '), 'the title is another')
  hold((await page.locator('script').count()) === 2, 'there is another script')
  await page.goto(`${url}/audit?f=onerror`)
  await page.locator('[data-row]').first().waitFor()
  const names = (await page.locator('[data-row]').allTextContents()).join('\n')
  hold(names.includes('\\u0007') && names.includes('<script>'), `the audit trail has ${names}`)
})

await step('a service shows its figures under load, and they move', async () => {
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await heading('Services')
  await page.getByRole('link', { name: 'shop', exact: true }).click()
  await heading('shop')
  shop = page.url()
  const total = page.locator('dl > div', { hasText: 'Requests in all' }).locator('dd')
  await page.locator('tbody tr', { hasText: 'Total' }).waitFor()
  const before = await total.textContent()
  await page.waitForFunction(([text]) => [...document.querySelectorAll('dl > div')].find((tile) => tile.textContent.startsWith('Requests in all'))?.querySelector('dd')?.textContent !== text, [before])
  await page.getByText('127.0.0.1:1', { exact: true }).waitFor()
  const parts = await page.getByRole('img', { name: /^Mean/ }).getAttribute('aria-label')
  hold(/App response \d/.test(parts), `the timing bar says ${parts}`)
  await page.locator('canvas').first().waitFor()
})

await step('charts draw what comes', async () => {
  const drawn = () => page.evaluate(() => document.querySelector('canvas').toDataURL())
  const before = await drawn()
  hold(before.length > 1000, `the chart is empty: ${before}`)
  await page.waitForFunction(
    (before) => document.querySelector('canvas').toDataURL() !== before,
    before, { polling: 500 },
  )
  await picture('service')
  await accessible()
})

await step('a range of time shows the history, a drag zooms in, and Back undoes it', async () => {
  await page.getByRole('button', { name: 'Time: Live' }).click()
  await accessible()
  await page.getByRole('button', { name: 'Last 15 minutes' }).click()
  await leads((at) => at.href.includes('from=now-15m'), 'the URL does not have the range')
  await page.locator('section:has(.uplot)').first().getByText('last five minutes').waitFor({ state: 'detached' })
  // The first samples come 15 s after the first request.
  await page.waitForFunction(() => /^[1-9]/.test(document.querySelector('section:has(.uplot) tbody td:nth-child(3)')?.textContent ?? ''), undefined, { polling: 500 })
  await drag(page.locator('.uplot').first(), 0.7, 0.95)
  await page.waitForFunction(() => /from=2\d{3}-.*&to=2\d{3}-/.test(location.search))
  await page.goBack()
  await leads((at) => at.href.includes('from=now-15m'), 'Back leads elsewhere')
  await page.keyboard.press('u')
  await leads((at) => at.href.includes('zone=utc'), 'u does not change the zone')
  await page.keyboard.press('u')
})

await step('a tile chooses the chart, which is there as a table and as a file', async () => {
  await page.getByRole('button', { name: 'Open connections' }).click()
  await page.getByRole('heading', { name: 'Open connections' }).waitFor()
  await leads((at) => at.href.includes('m=open'), 'the URL does not have the measure')
  await page.getByRole('button', { name: 'Open connections: table, export' }).click()
  await page.getByRole('menuitem', { name: 'Show as a table' }).click()
  await page.getByRole('region', { name: 'Open connections as a table' }).getByRole('row').nth(1).waitFor()
  await accessible()
  const text = await saved('Open connections: table, export', 'Save as CSV')
  hold(/^time,Open\r\n20\d\d-/.test(text), `the file begins with ${text.slice(0, 60)}`)
  const json = JSON.parse(await saved('Open connections: table, export', 'Save as JSON'))
  hold(json.lines.Open.length === json.times.length && json.times.length > 10, 'the file has no lines')
  await page.goto(shop)
  await heading('shop')
})

await step('charts show what is usual behind their lines, and the switch is in the URL of every page', async () => {
  // The controller knows habits after half an hour. Here its answer gets the band that it has then.
  const known = { prediction_interval_low: 1, prediction_interval_high: 5000 }
  const path = (at) => at.pathname.startsWith('/api/analytics/metrics/virtualservice/')
  await page.route(path, async (route) => {
    const answer = await route.fetch()
    const metrics = await answer.json()
    for (const { data } of metrics.series) for (const value of data) Object.assign(value, known)
    await route.fulfill({ response: answer, json: metrics })
  })
  await page.goto(`${shop}?from=now-15m&m=connections`)
  await heading('shop')
  const band = page.locator('section', { has: page.getByRole('heading', { name: 'New connections' }) })
  await band.getByText('Connections/s: 1 to 5.0k').waitFor()
  const drawn = () => band.locator('canvas').evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return data.filter((value, at) => at % 4 === 3 && value > 33 && value < 39).length // 14 % of 255
  })
  const filled = await drawn()
  hold(filled > 5000, `${filled} pixels are filled: no band is drawn`)
  await accessible()
  await picture('usual')
  const text = await saved('New connections: table, export', 'Save as CSV')
  hold(text.startsWith('time,Connections/s,Failures/s,"Connections/s, usual from","Connections/s, usual to"') && /,1,5000\r/.test(text), `the file begins with ${text.slice(0, 200)}`)
  await band.getByRole('button', { name: 'What is usual', pressed: true }).click()
  await band.getByText('Connections/s: 1 to 5.0k').waitFor({ state: 'detached' })
  hold(page.url().includes('usual=off'), `the URL is ${page.url()}`)
  const left = await drawn()
  hold(left < filled / 10, `of ${filled} pixels, ${left} are still filled`)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Services' }).click()
  await heading('Services')
  hold(page.url().includes('usual=off'), `on another page, the URL is ${page.url()}`)
  await page.unroute(path)
  await page.goto(shop)
  await heading('shop')
})

await step('a health score says why, and by which formula', async () => {
  await page.getByRole('button', { name: /^Health of shop: \d+ (good|fair|poor)/ }).click()
  await page.getByText('1 of 3 servers down').first().waitFor()
  await page.getByText(/performance = .* up ×/).waitFor()
  await accessible()
  await picture('health')
  await page.keyboard.press('Escape')
})

await step('the dark theme holds, and no page has serious findings in it', async () => {
  await page.getByRole('button', { name: /Theme is system/ }).click()
  hold((await page.evaluate(() => document.documentElement.dataset.theme)) === 'dark', 'the theme is not dark')
  await picture('service-dark')
  await accessible()
  await page.reload()
  await heading('shop')
  hold((await page.evaluate(() => document.documentElement.dataset.theme)) === 'dark', 'the theme is lost when the page is loaded again')
})

const places = [['o', 'Overview'], ['s', 'Services'], ['l', 'Logs'], ['e', 'Infrastructure'], ['c', 'Security'], ['v', 'Events'], ['a', 'Audit']]

for (const theme of ['dark', 'light']) {
  await step(`all pages by keyboard, ${theme}`, async () => {
    if (theme === 'light') await page.getByRole('button', { name: /Theme is dark/ }).click()
    for (const [key, name] of places) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await heading(name)
      await page.locator('[data-row], main li').first().waitFor()
      await accessible()
      await picture(`${name.toLowerCase()}-${theme}`)
    }
  })
}

await step('a search over records: terms, values to narrow down, a record, a range of time', async () => {
  await page.goto(`${url}/events`)
  await heading('Events')
  const search = page.getByRole('combobox', { name: 'Search events' })
  await page.keyboard.press('/')
  await page.keyboard.type('event:VS_UP nothing:x')
  await page.getByText('There is no field “nothing”').waitFor()
  await page.keyboard.press('Enter')
  await leads((at) => at.searchParams.get('f') === 'event:VS_UP nothing:x', 'the URL does not have the search')
  await page.getByRole('button', { name: 'Remove nothing:x' }).click()
  await page.waitForFunction(() => [...document.querySelectorAll('[data-row]')].every((row) => row.textContent.includes('VS_UP')) && document.querySelector('[data-row]'))
  await page.getByRole('button', { name: 'Exclude event:VS_UP' }).click()
  await page.waitForFunction(() => ![...document.querySelectorAll('[data-row]')].some((row) => row.textContent.includes('VS_UP')))
  hold((await search.inputValue()) === '-event:VS_UP', `the search is ${await search.inputValue()}`)
  await page.goto(`${url}/events`)
  await page.getByRole('button', { name: /^Only object hostile/ }).click()
  await page.waitForFunction(() => [...document.querySelectorAll('[data-row]')].every((row) => row.textContent.includes('hostile')) && document.querySelector('[data-row]'))
  await accessible()
  await picture('search')
  await page.locator('[data-row] [data-open]').first().click()
  const record = page.getByRole('dialog')
  await record.getByText('event_description').waitFor()
  hold((await record.textContent()).includes('\\u202e') && (await page.locator('main img, [role=dialog] img').count()) === 0, 'the record is not text')
  await accessible()
  const shared = page.url()
  await page.keyboard.press('Escape')
  await record.waitFor({ state: 'detached' })
  await page.goto(shared)
  await record.getByText('event_description').waitFor()
  await page.keyboard.press('Escape')
  const text = await saved('Records: table, export', 'Save as CSV')
  hold(text.startsWith('report_timestamp,event_id') && text.includes('hostile'), `the file begins with ${text.slice(0, 80)}`)
  await page.goto(`${url}/events`)
  await drag(page.getByRole('img', { name: /events over time/ }), 0.9, 0.999)
  await page.waitForFunction(() => /from=2\d{3}-.*&to=2\d{3}-/.test(location.search))
  await page.goBack()
  await leads((at) => !at.href.includes('from='), 'Back leads elsewhere')
})

await step('the security page shows refusals by kind and by client, and each client leads to its records', async () => {
  await page.goto(`${url}/security`)
  await heading('Security')
  const clients = page.getByRole('region', { name: 'Refused, by client: rows' })
  await clients.getByRole('link', { name: '127.0.0.1' }).waitFor({ timeout: 60_000 })
  const chart = page.locator('section', { has: page.getByRole('heading', { name: 'Attacks and refusals, by kind' }) })
  await page.waitForFunction(() => [...document.querySelectorAll('tr')].some((row) => /^Malformed or too large\/s[^–]*[1-9]/.test(row.textContent)), undefined, { timeout: 60_000 })
  await chart.locator('canvas').waitFor()
  await accessible()
  await clients.getByRole('link', { name: 'client_bad_request' }).click()
  await heading('Logs')
  hold(new URL(page.url()).searchParams.get('f') === 'client:127.0.0.1 state:client_bad_request', `the URL is ${page.url()}`)
  await page.locator('[data-row]').first().waitFor()
  hold((await page.locator('[data-row]').allTextContents()).every((row) => row.includes('400')), 'the search finds other records, too')
  await page.goBack()
  await clients.getByRole('link', { name: '127.0.0.1' }).click()
  await heading('Logs')
  hold(new URL(page.url()).searchParams.get('f') === 'client:127.0.0.1', `the URL is ${page.url()}`)
})

await step('a file has all records that a search finds, and the page says how many', async () => {
  await page.goto(`${url}/logs?f=service:shop&follow=off`)
  await page.getByText(/^100 of \d/).waitFor({ timeout: 60_000 })
  for (const [item, records] of [['Save as CSV', (text) => text.trimEnd().split('\r\n').length - 1], ['Save as JSON', (text) => JSON.parse(text).length]]) {
    const found = records(await saved('Records: table, export', item))
    const says = await page.getByRole('status').filter({ hasText: 'records that the search finds' }).textContent()
    hold(found > 100 && says.replace(/[^a-zA-Z\d. ]/g, '') === `Saved all ${found} records that the search finds.`, `the file has ${found} records, and the page says ${says}`)
  }
  await accessible()
})

await step('requests have records: what they stand for, one as sentences, by duration, and hostile ones as text', async () => {
  await page.goto(`${url}/logs`)
  await heading('Logs')
  await page.locator('[data-row]').first().waitFor()
  await page.getByText(/kept, standing for|requests in the last 15 minutes/).first().waitFor()
  await page.getByRole('img', { name: /requests over time/ }).waitFor()
  await accessible()
  await picture('logs')
  await page.getByRole('combobox', { name: 'Search requests' }).fill('ua:cmd')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length === 1 && document.querySelector('[data-row]').textContent.includes('<script>'))
  const text = await saved('Records: table, export', 'Save as CSV')
  hold(text.includes("'=cmd") && !/(^|\n|,)=cmd/.test(text), `the file has ${text}`)
  await page.locator('[data-row] [data-open]').first().click()
  const record = page.getByRole('dialog')
  await record.getByText(/connected to .*:8083, the virtual service hostile/).waitFor()
  await record.getByText(/of the engine engine-1 took it/).waitFor()
  const told = await record.textContent()
  hold(told.includes('<script>alert(1)</script>') && told.includes('\\u202e') && !told.includes('\u202e'), `the record says ${told}`)
  hold((await page.locator('main img, [role=dialog] img').count()) === 0, 'there is an image')
  await accessible()
  await picture('record')
  await page.keyboard.press('Escape')
  await page.goto(`${shop}/logs?f=total:>=20ms`)
  await page.locator('[data-row]').first().waitFor()
  const times = await page.locator('[data-row]').allTextContents()
  hold(times.every((row) => /\d (ms|s)/.test(row)), `a row has no time: ${times[0]}`)
  await page.getByRole('button', { name: /^Only server 127/ }).first().click()
  await page.waitForFunction(() => /f=total.*server/.test(location.search))
  await page.getByRole('button', { name: 'Significant', exact: true }).click()
  await page.waitForFunction(() => /class.*significant/.test(location.search))
})

await step('what would happen to a request now stands beside what happened', async () => {
  await page.goto(`${shop}/logs?follow=off`)
  await page.locator('[data-row] [data-open]').first().click()
  const record = page.getByRole('dialog')
  await record.getByText(/connected to .*:8080, the virtual service shop/).waitFor()
  await record.getByRole('button', { name: 'What would happen now' }).click()
  await record.getByRole('columnheader', { name: 'Now, at engine-1' }).waitFor()
  const pool = await record.getByRole('row', { name: /^pool/ }).getByRole('cell').allTextContents()
  hold(/^The pool is shop/.test(pool[0]) && /^The pool is shop: .*as worker \d of 2 sees it/.test(pool[1]), `the pools are ${pool}`)
  await record.getByText(/2 of 3 take requests: 127.0.0.1:1 is down/).waitFor()
  await record.getByText(/The server would be 127/).waitFor()
  await record.getByText(/Asked was GET http:.*:8080\/ from 127/).waitFor()
  for (const theme of ['dark', 'light']) {
    await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme)
    await accessible()
    await picture(`record-now-${theme}`)
  }
  await page.setViewportSize({ width: 360, height: 740 })
  const wide = await record.evaluate((element) => element.scrollWidth - element.clientWidth)
  hold(wide <= 0, `the record is ${wide} px wider than the page`)
  await accessible()
  await picture('record-now-360')
  await page.setViewportSize({ width: 1280, height: 800 })
  const withAnother = async (route) => {
    const answer = await route.fetch()
    const told = await answer.json()
    const away = { uuid: 'se-0', name: 'engine-0', error: 'it is not connected', stages: [{ name: 'engine', text: 'No answer from the engine engine-0: it is not connected.' }] }
    await route.fulfill({ response: answer, json: { ...told, engines: [away, ...told.engines] } })
  }
  await answered('**/api/weir/explain', withAnother, async () => {
    await record.getByRole('button', { name: 'Ask again' }).click()
    await record.getByText('1 more engine', { exact: true }).click()
    await record.getByText('No answer from the engine engine-0').waitFor()
    // The engine of the record stands beside it.
    await record.getByRole('table').first().getByRole('columnheader', { name: 'Now, at engine-1' }).waitFor()
    await accessible()
  })
})

await step('a request that leads nowhere now says so, and what to do', async () => {
  await page.reload()
  const record = page.getByRole('dialog')
  await refused('**/api/weir/explain', 400, 'query parameter url: no virtual service that you may read listens at 127.0.0.9:8080', async () => {
    await record.getByRole('button', { name: 'What would happen now' }).click()
    await record.getByText('Now, this request leads nowhere: no virtual service that you may read listens at 127.0.0.9:8080. Was').waitFor()
    await accessible()
  })
  await record.getByRole('button', { name: 'Ask again' }).click()
  await record.getByRole('columnheader', { name: 'Now, at engine-1' }).waitFor()
})

await step('a record opens without its stages while these cannot be read', async () => {
  await page.goto(`${shop}/logs?follow=off`)
  await page.locator('[data-row] [data-open]').first().waitFor()
  const record = page.getByRole('dialog')
  await refused('**/api/weir/explain/*', 503, 'The record store does not answer', async () => {
    await page.locator('[data-row] [data-open]').first().click()
    await record.getByText('What happened cannot be told now: The record store does not answer').waitFor()
    await record.getByRole('heading', { name: /^GET \// }).waitFor()
    await record.getByText('request_id', { exact: true }).waitFor()
    await record.getByRole('img', { name: /App response/ }).waitFor()
    await accessible()
    await record.getByRole('button', { name: 'What would happen now' }).click()
    await record.getByRole('columnheader', { name: 'Now, at engine-1' }).waitFor()
  })
  await record.getByRole('button', { name: 'Read again' }).click()
  await record.getByText(/connected to .*:8080, the virtual service shop/).waitFor()
})

await step('the URL of a record or an event opens it, however old it is', async () => {
  const oldest = async (type) => page.evaluate(async (type) => (await (await fetch(`/api/analytics/logs?type=${type}&page_size=1&orderby=report_timestamp`, { headers: { 'X-Avi-Tenant': '*' } })).json()).results[0], type)
  // The page lists another hour.
  const away = 'from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z'
  const record = page.getByRole('dialog')
  const request = await oldest(1)
  await page.goto(`${url}/logs?${away}&sel=${encodeURIComponent(request.request_id)}`)
  await record.getByText(/the virtual service/).waitFor()
  await record.getByText(request.request_id, { exact: true }).waitFor()
  const event = await oldest(2)
  const asked = page.waitForRequest((one) => one.url().includes('obj_uuid'))
  await page.goto(`${url}/events?${away}&sel=${encodeURIComponent(`${event.report_timestamp} ${event.event_id} ${event.obj_uuid}`)}`)
  await record.getByRole('heading', { name: event.event_id }).waitFor()
  await record.getByText(event.event_description, { exact: true }).waitFor()
  const form = new URL((await asked).url()).searchParams
  hold(form.get('start') === event.report_timestamp && Date.parse(form.get('end')) - Date.parse(form.get('start')) === 1, `the event was looked up from ${form.get('start')} to ${form.get('end')}`)
  await accessible()
  await page.goto(`${url}/events?sel=2026-01-01T00:00:00Z+VS_UP+none`)
  await record.getByText('This record is not there, or not any more').waitFor()
  await page.goto(`${url}/logs?sel=se-none-0-x.1`)
  await record.getByText('This record is not there, or not any more').waitFor()
  await accessible()
})

await step('the fields of a search stand beside it, by both of their names', async () => {
  await page.goto(`${url}/logs`)
  await page.getByRole('button', { name: 'Fields' }).click()
  const fields = page.getByRole('dialog', { name: 'Fields of requests' })
  await fields.getByRole('row', { name: /total total_time/ }).waitFor()
  await accessible()
  await fields.getByRole('button', { name: 'app_response', exact: true }).click()
  await fields.waitFor({ state: 'detached' })
  const search = page.getByRole('combobox', { name: 'Search requests' })
  hold((await search.inputValue()) === 'app_response:', `the search is ${await search.inputValue()}`)
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Search requests')
  await page.keyboard.type('>=0')
  await page.keyboard.press('Enter')
  await page.locator('[data-row]').first().waitFor()
})

await step('OR finds what has one of several terms', async () => {
  await page.goto(`${url}/logs?f=${encodeURIComponent('ua:cmd OR status:599 method:GET')}`)
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length === 1 && document.querySelector('[data-row]').textContent.includes('<script>'))
  const chips = await page.getByRole('list', { name: 'Terms of the search' }).getByRole('listitem').allTextContents()
  hold(chips.length === 2 && chips[0].includes('any') && chips[0].includes('ua:cmd OR status:599'), `the chips are ${chips}`)
  await accessible()
  await page.getByRole('button', { name: 'Remove ua:cmd OR status:599' }).click()
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length > 1)
  await leads((at) => at.searchParams.get('f') === 'method:GET', 'the URL still has the term')
})

await step('TLS has a grade, and says why', async () => {
  await page.goto(`${url}/security`)
  const row = page.locator('[data-row]', { hasText: 'vault' })
  await row.getByText(/^certificate System-Default-Cert is self-signed/).waitFor()
  await row.getByRole('link', { name: /vault/ }).click()
  await page.getByRole('button', { name: /^TLS C is the grade of vault/ }).click()
  await page.getByText('has no HSTS').waitFor()
  await accessible()
  await page.getByRole('link', { name: 'change it' }).first().click()
  await heading('System-Default-Cert')
})

await step('the palette goes to an object, with the keyboard alone', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Page or object' }).fill('sho')
  await page.getByRole('option', { name: /shop.*pool/ }).waitFor()
  await accessible()
  await picture('palette')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await heading('shop')
  await leads((at) => at.pathname.includes('/pools/'), 'it is no page of a pool')
  await page.getByText('127.0.0.1:1', { exact: true }).waitFor()
  await accessible()
  await picture('pool')
})

await step('a server and an engine have pages of their own, with their history', async () => {
  await page.getByRole('link', { name: '127.0.0.1:1', exact: true }).click()
  await heading('127.0.0.1:1')
  await page.getByRole('region', { name: 'Health checks' }).getByText('System-TCP').waitFor()
  await page.locator('.uplot').first().waitFor()
  await accessible()
  await page.goto(`${url}/infrastructure`)
  await page.getByRole('region', { name: 'Map of routers and engines' }).getByRole('link', { name: /engine-1/ }).click()
  await heading('engine-1')
  engine = page.url()
  await page.getByText('Worker 1').waitFor()
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor()
  await page.locator('.uplot').first().waitFor()
  await accessible()
  await picture('engine')
})

await step('j, k and Enter go through rows, ? lists the keys', async () => {
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await heading('Services')
  await page.locator('[data-row]').first().waitFor()
  for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
  const name = await page.evaluate(() => document.activeElement.textContent)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('Next row').waitFor()
  await accessible()
  await page.keyboard.press('Escape')
  await page.goBack()
  await heading('Services')
})

await step('a box on the heat map leads to the log records in it', async () => {
  await page.goto(shop)
  await page.getByText('the more requests; at most').waitFor()
  await drag(page.getByRole('img', { name: /^Latency of the requests/ }), 0.02, 0.999, 0.02, 0.98)
  const says = await page.getByText(/requests took .* between/).textContent()
  hold(/^[1-9].*: (9\d|100|>99)/.test(says), `the box has ${says}`)
  await page.getByText(/^(Nothing|What) differs/).first().waitFor()
  const link = await page.getByRole('link', { name: 'Their log records' }).getAttribute('href')
  hold(/\/logs\?f=total.*\d\.\.\d.*&from=20.*&to=20/.test(link), `the link is ${link}`)
  await page.getByRole('button', { name: 'Latency of requests: table, export' }).click()
  await page.getByRole('menuitem', { name: 'Show as a table' }).click()
  await page.getByRole('region', { name: 'Latency as a table' }).getByRole('row').nth(1).waitFor()
  await accessible()
})

await step('a box around slow requests says what they have in common', async () => {
  await drag(page.getByRole('img', { name: /^Latency of the requests/ }), 0.02, 0.999, 0.02, 0.45)
  await page.getByRole('table', { name: /differs/ }).getByRole('row', { name: /^Server 127/ }).waitFor()
  await accessible()
})

await step('the box is in the URL: it is there again when the page is loaded again, until somebody removes it', async () => {
  await leads((at) => at.searchParams.get('box')?.includes('..'), 'the URL does not have the box')
  const took = await page.getByText(/requests took .* between/).textContent()
  await page.reload()
  await page.getByText(/requests took .* between/).waitFor()
  const again = await page.getByText(/requests took .* between/).textContent()
  hold(again.replace(/^\S+/, '').replace(/: .*/, '') === took.replace(/^\S+/, '').replace(/: .*/, ''), `the box was ${took}, and is ${again}`)
  await page.locator('[data-box]').waitFor()
  await page.getByRole('table', { name: /differs/ }).getByRole('row', { name: /^Server 127/ }).waitFor()
  await page.getByRole('button', { name: 'Remove the box' }).click()
  await page.locator('[data-box]').waitFor({ state: 'detached' })
  await leads((at) => !at.href.includes('box='), 'the URL still has the box')
})

await step('at 3840 px, pages use the room', async () => {
  await page.setViewportSize({ width: 3840, height: 2160 })
  await page.goto(shop)
  await heading('shop')
  await page.locator('canvas').first().waitFor()
  const [main, chart] = await page.evaluate(() => [document.querySelector('main').getBoundingClientRect().width, document.querySelector('canvas').getBoundingClientRect().width])
  hold(main > 2600 && chart > 1000, `the page has ${main} px, a chart ${chart}`)
  await picture('service-3840')
  await page.setViewportSize({ width: 1280, height: 800 })
})

await step('at 360 px nothing is wider than the page', async () => {
  await page.setViewportSize({ width: 360, height: 740 })
  for (const [path, name] of [['/', 'overview'], ['/services', 'services'], [new URL(shop).pathname, 'service'], [new URL(engine).pathname, 'engine'], ['/infrastructure', 'infrastructure'], ['/security', 'security'], ['/alerts', 'alerts'], ['/logs', 'logs'], ['/events', 'events'], ['/audit', 'audit']]) {
    await page.goto(url + path)
    await page.locator('[data-row], main li').filter({ visible: true }).first().waitFor()
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    hold(wide <= 0, `${path} is ${wide} px wider than the page`)
    await accessible()
    await picture(`${name}-360`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
})

await step('at 360 px a menu leads to every page', async () => {
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto(url)
  await heading('Overview')
  await page.getByRole('button', { name: 'Pages: Overview' }).click()
  const pages = page.getByRole('dialog', { name: 'Pages' })
  await pages.getByRole('link', { name: 'Objects' }).waitFor()
  await accessible()
  await pages.getByRole('link', { name: 'Audit' }).click()
  await heading('Audit')
  await page.getByRole('button', { name: 'Pages: Audit' }).waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Audit' }).waitFor()
})

await step('a page that becomes wide again has rows of one height', async () => {
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto(`${url}/services`)
  await page.locator('[data-row]').first().waitFor()
  await page.waitForFunction(() => document.querySelector('[data-row]').getBoundingClientRect().height > 100)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('[data-row]')].map((row) => row.getBoundingClientRect().top).toSorted((a, b) => a - b)
    return rows.length > 1 && rows.every((top, at) => at === 0 || top - rows[at - 1] === 31)
  })
})

await step('an alert is there, is silenced, and is dismissed', async () => {
  await page.goto(`${url}/alerts`)
  const row = page.locator('[data-row]', { hasText: 'shop' })
  await row.getByText('FIRING').waitFor()
  await row.getByText('weir.p99_total_time').waitFor()
  await accessible()
  await picture('alerts')
  await row.getByRole('button', { name: 'Silence 1 h' }).click()
  await row.getByText('silenced by admin').waitFor()
  await row.getByRole('button', { name: 'Dismiss' }).click()
  await row.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Rules' }).first().click()
  await page.getByRole('link', { name: 'slow', exact: true }).waitFor()
})

await step('unknown pages and objects say so', async () => {
  await page.goto(`${url}/nowhere`)
  await heading('No such page')
  await page.goto(`${url}/services/virtualservice-none`)
  await page.getByText('There is no such object').waitFor()
  const answers = await page.evaluate(async () => Promise.all(['/assets/none.js', '/api/none', '/robots.txt'].map(async (path) => (await fetch(path)).status)))
  hold(answers.every((status) => status === 404), `the answers are ${answers}`)
})

await step('a session that ends asks for the password, and the page stays', async () => {
  await page.goto(shop)
  await heading('shop')
  // An answer that was on its way brings cookies again.
  await context.clearCookies()
  const again = setInterval(() => void context.clearCookies(), 3000)
  try {
    await page.getByText('Your session has ended').waitFor()
  } finally {
    clearInterval(again)
  }
  hold(page.url() === shop, 'the URL has changed')
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await heading('shop')
})

await step('log out', async () => {
  await page.getByRole('button', { name: 'admin' }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await page.getByLabel('Password').waitFor()
  const cookies = await context.cookies()
  const session = cookies.filter((cookie) => cookie.name.includes('sessionid'))
  hold(session.every((cookie) => cookie.httpOnly && cookie.secure && cookie.sameSite === 'Lax'), 'a session cookie is not HttpOnly, Secure and SameSite')
  const status = await page.evaluate(async () => (await fetch('/api/virtualservice')).status)
  hold(status === 401, `after the logout, the API answers ${status}`)
})

await browser.close()
