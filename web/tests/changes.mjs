// Changes objects as people do: forms, conflicts, undo, buttons, the audit trail. tests/pages starts it with a controller
// that serves the service "shop".
import { api, bar, field, named, save, saved } from './objects.mjs'
import { accessible, browser, heading, hold, logIn, page, picture, step, url } from './stage.mjs'

await step('all kinds of object are there, with a form for a new one', async () => {
  await logIn('/objects')
  await page.getByRole('link', { name: 'Health monitor', exact: true }).click()
  await heading('Health monitor')
  await page.getByRole('link', { name: 'New Health monitor' }).click()
  await heading('New Health monitor')
  await page.getByRole('link', { name: 'System-TCP' }).waitFor({ state: 'detached' })
})

await step('what the controller refuses stands at its field', async () => {
  await field('name').getByRole('textbox').fill('hourly')
  await field('type').getByRole('combobox').selectOption('HEALTH_MONITOR_HTTP')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await field('http_monitor').getByRole('alert').filter({ hasText: 'is required by type' }).waitFor()
  await field('type').getByRole('combobox').selectOption('HEALTH_MONITOR_TCP')
  // The field at fault has opened the settings that it is among.
  await field('send_interval').getByRole('textbox').fill('3700')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await field('send_interval').getByRole('alert').filter({ hasText: '3700 is out of range' }).waitFor()
  await accessible()
  await picture('form-refused')
  await field('send_interval').getByRole('textbox').fill('3600')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await heading('hourly')
  await saved('healthmonitor hourly created')
  hold((await named('healthmonitor', 'hourly')).send_interval === 3600, 'the controller has another interval')
})

await step('an edit is saved and undone', async () => {
  await field('description').getByRole('textbox').fill('each hour')
  await save()
  await saved('healthmonitor hourly changed')
  hold((await named('healthmonitor', 'hourly')).description === 'each hour', 'the controller does not have it')
  await bar.getByRole('button', { name: 'Undo' }).click()
  await saved('undone: healthmonitor hourly changed')
  hold(!(await named('healthmonitor', 'hourly')).description, 'the description is still there')
})

await step('form and JSON follow each other', async () => {
  await page.reload()
  await heading('hourly')
  const json = page.getByLabel('JSON of the object')
  await field('send_interval').getByRole('textbox').fill('1800')
  const text = await json.inputValue()
  hold(text.includes('"send_interval": 1800'), `the JSON is ${text}`)
  await json.fill(text.replace('"send_interval": 1800', '"send_interval": 900'))
  hold((await field('send_interval').getByRole('textbox').inputValue()) === '900', 'the form does not follow')
  await json.fill('{"send_interval": ')
  await page.getByText('not taken over').waitFor()
  hold((await field('send_interval').getByRole('textbox').inputValue()) === '900', 'broken JSON was taken over')
  await page.getByRole('button', { name: 'Reset' }).click()
  hold((await field('send_interval').getByRole('textbox').inputValue()) === '3600', 'Reset does not bring the old value')
})

await step('a write of somebody else in between shows both versions, and loses neither', async () => {
  const monitor = await named('healthmonitor', 'hourly')
  await field('description').getByRole('textbox').fill('mine')
  await api('PATCH', `/api/healthmonitor/${monitor.uuid}`, { replace: { send_interval: 60 } })
  await save()
  const conflict = page.locator('section', { has: page.getByText('Somebody has changed it since you read it') })
  await conflict.waitFor()
  const said = await conflict.textContent()
  hold(/send_interval.*3600.*60/.test(said) && said.includes('mine'), `the conflict says ${said}`)
  await accessible()
  await picture('conflict')
  hold((await named('healthmonitor', 'hourly')).description !== 'mine', 'it was written all the same')
  await page.getByRole('button', { name: 'Put my changes over theirs' }).click()
  await save()
  await saved('healthmonitor hourly changed')
  const now = await named('healthmonitor', 'hourly')
  hold(now.description === 'mine' && now.send_interval === 60, `the controller has ${now.description}, ${now.send_interval}`)
})

await step('undo is refused if somebody wrote since', async () => {
  const monitor = await named('healthmonitor', 'hourly')
  await api('PATCH', `/api/healthmonitor/${monitor.uuid}`, { replace: { failed_checks: 5 } })
  await bar.getByRole('button', { name: 'Undo' }).click()
  await bar.getByRole('alert').filter({ hasText: 'Somebody has changed it since' }).waitFor()
  hold((await named('healthmonitor', 'hourly')).description === 'mine', 'it was undone all the same')
})

await step('what was deleted comes back under its uuid', async () => {
  const before = await named('healthmonitor', 'hourly')
  await page.reload()
  await heading('hourly')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await heading('Health monitor')
  hold((await named('healthmonitor', 'hourly')) === undefined, 'it is still there')
  await bar.getByRole('button', { name: 'Undo' }).click()
  await saved('undone')
  hold((await named('healthmonitor', 'hourly')).uuid === before.uuid, 'it has another uuid')
})

await step('what is in use is not deleted, and the dialog says who uses it', async () => {
  const pool = await named('pool', 'shop')
  await page.goto(`${url}/objects/pool/${pool.uuid}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'VirtualService shop' }).waitFor()
  await accessible()
  await page.keyboard.press('Escape')
})

await step('a service is deleted with what only it uses, and all of it comes back', async () => {
  const pool = (await api('POST', '/api/pool', { name: 'kiosk', servers: [{ ip: { addr: '127.0.0.1', type: 'V4' }, port: 9 }] })).body
  const shop = await named('virtualservice', 'shop')
  const kiosk = (await api('POST', '/api/virtualservice', { name: 'kiosk', vsvip_ref: shop.vsvip_ref, pool_ref: pool.url, services: [{ port: 8090 }] })).body
  await page.goto(`${url}/services/${kiosk.uuid}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('checkbox', { name: 'Delete its pool' }).check()
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await heading('Services')
  await saved('service kiosk deleted, pool kiosk deleted')
  hold((await named('virtualservice', 'kiosk')) === undefined && (await named('pool', 'kiosk')) === undefined, 'the service or its pool is still there')
  hold((await named('virtualservice', 'shop')) !== undefined, 'the service that shares its address is gone')
  await bar.getByRole('button', { name: 'Undo' }).click()
  await saved('undone: service kiosk deleted')
  hold((await named('virtualservice', 'kiosk')).uuid === kiosk.uuid && (await named('pool', 'kiosk')).uuid === pool.uuid, 'the service or its pool is another one')
})

await step('a server drains by a button, until engines have it, and comes back', async () => {
  const pool = await named('pool', 'shop')
  await page.goto(`${url}/pools/${pool.uuid}`)
  await page.getByRole('button', { name: 'Drain' }).first().click()
  await bar.getByText(/applied on 1 of 1 engines/).waitFor()
  hold((await named('pool', 'shop')).servers.filter((server) => server.enabled === false).length === 1, 'no server is disabled')
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await accessible()
  await picture('pool-drained')
  await bar.getByRole('button', { name: 'Undo' }).click()
  await saved('undone')
  hold((await named('pool', 'shop')).servers.every((server) => server.enabled), 'the server is still disabled')
})

await step('servers are added as a list', async () => {
  await page.getByRole('button', { name: 'Add servers' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('127.0.0.1:2-x')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByRole('textbox').fill('127.0.0.2-4:9')
  await accessible()
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await saved('3 servers added')
  await page.getByText('127.0.0.4:9', { exact: true }).waitFor()
})

/** Opens the audit trail of the pool when it has so many entries. Rows keep their places under the pointer. */
async function auditOf(entries) {
  await page.mouse.move(2, 790)
  await page.goto(`${url}/audit?f=change+pool+shop`)
  await page.waitForFunction((wanted) => document.querySelectorAll('[data-row]').length >= wanted, entries)
}

await step('the audit trail opens a difference, and undoes it', async () => {
  await auditOf(3)
  await page.getByRole('button', { name: 'change', exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('servers[2]', { exact: true }).waitFor()
  await accessible()
  await picture('audit-entry')
  await dialog.getByRole('button', { name: 'Undo' }).click()
  await saved('undone: change pool shop')
  hold((await named('pool', 'shop')).servers.length === 2, 'the servers are still there')
})

await step('a change that somebody has written over is not undone from the audit trail', async () => {
  await auditOf(4)
  await page.getByRole('button', { name: 'change', exact: true }).nth(1).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'somebody has changed servers since' }).waitFor()
  await page.keyboard.press('Escape')
})

await browser.close()
