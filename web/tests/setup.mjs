// The first set-up of a controller, up to the first request that its first service answers. tests/pages starts it with
// a controller that has no engine. WEIR_PROGRAM is weir, WEIR_STATE a directory for the engine, WEIR_VIP and WEIR_PORT
// where the service shall be, WEIR_SERVERS who answers.
import { spawn } from 'node:child_process'
import { get } from 'node:https'
import { accessible, browser, expectRefusals, heading, hold, logIn, page, password, picture, step, url } from './stage.mjs'

const { WEIR_PROGRAM: program, WEIR_STATE: state, WEIR_VIP: vip, WEIR_PORT: port, WEIR_SERVERS: servers } = process.env
const own = 'correct horse battery'
const patienceMs = 90_000
const actionsMost = 12
let engine

expectRefusals(/status of (400|401|404|419)/)

await step('nobody sets up a controller without its first password', async () => {
  await page.goto(`${url}/welcome`)
  await page.getByLabel('Password', { exact: true }).waitFor()
  hold((await page.getByText('The first engine').count()) === 0, 'the set-up is open')
  const answers = await page.evaluate(async () => {
    const write = (method, path, body) => fetch(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
    const all = await Promise.all([write('PUT', '/api/useraccount', { old_password: '', password: 'stranger stranger' }), write('POST', '/api/securetoken-generate', {}), write('PUT', '/api/systemconfiguration', {})])
    return all.map((answer) => answer.status)
  })
  hold(answers.every((status) => status === 401), `strangers get ${answers}`)
})

await step('the login leads to the set-up', async () => {
  await logIn('/')
  await heading('Welcome to Weir')
  await accessible()
  await picture('welcome')
})

await step('a password of at least twelve characters replaces the first one', async () => {
  await page.getByLabel('First password').fill('wrong')
  await page.getByLabel('New password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('It has 5 characters').waitFor()
  await page.getByLabel('New password', { exact: true }).fill(own)
  await page.getByLabel('New password again').fill(own)
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
  await page.getByLabel('First password').fill(password)
  await page.getByLabel('Your name').fill('Ann')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('The password is yours').waitFor()
})

await step('the command lets an engine join, and the page sees it', async () => {
  await page.getByLabel('Name of the engine').fill("ann's engine")
  await page.getByRole('alert').filter({ hasText: 'letters, digits' }).waitFor()
  await page.getByLabel('Name of the engine').fill('edge-1')
  await page.getByRole('button', { name: 'Make the command' }).click()
  await page.getByText('Waiting for the engine').waitFor()
  await accessible()
  await picture('welcome-engine')
  const command = await page.getByLabel('Command', { exact: true }).textContent()
  hold(command.startsWith('weir agent --controller '), `the command is ${command}`)
  engine = spawn('sh', ['-c', `exec "$WEIR_PROGRAM"${command.slice('weir'.length)} --state-dir "$WEIR_STATE" --workers 1`], { env: { ...process.env, WEIR_PROGRAM: program, WEIR_STATE: state }, stdio: ['ignore', 'ignore', 'inherit'] })
  await page.getByText('edge-1 is up').waitFor()
  await page.getByRole('button', { name: 'Create a service' }).click()
  await heading('New service')
})

// Each key that is pressed in one field is a part of one action: to fill in the field.
let actions = 0
async function act(does) {
  actions++
  await does
}

let begun = 0

await step(`from /new to the first answer: at most ${actionsMost} actions`, async () => {
  await page.goto(`${url}/new`)
  begun = Date.now()
  const input = (name) => page.getByLabel(name, { exact: true })
  await act(input('Name').fill('shop'))
  await act(input('Address').fill(vip))
  await act(input('Port').fill(port))
  await act(input('Host name').fill('shop.example.com'))
  await act(input('Servers').fill(servers))
  await accessible()
  await act(page.getByRole('button', { name: 'Create' }).click())
  await heading('shop')
  await page.getByRole('region', { name: 'Last change' }).getByText('applied on 1 of 1 engines').waitFor()
  const status = await firstAnswer()
  const tookMs = Date.now() - begun
  hold(status === 200, `the first answer is ${status}`)
  hold(actions <= actionsMost, `it took ${actions} actions`)
  console.error(`from /new to the first 200: ${tookMs} ms, ${actions} actions`)
  await picture('first-service')
})

/** Asks the service until it answers. Until its servers are checked, it answers 503. */
async function firstAnswer() {
  const ask = () =>
    new Promise((resolve) => {
      get({ host: vip, port, path: '/', rejectUnauthorized: false, agent: false }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).on('error', () => resolve(0))
    })
  for (;;) {
    const status = await ask()
    if (status === 200 || Date.now() - begun > patienceMs) return status
    await page.waitForTimeout(50)
  }
}

await step('one Undo takes the service back, with all that was made for it', async () => {
  await page.getByRole('region', { name: 'Last change' }).getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('region', { name: 'Last change' }).filter({ hasText: 'undone: service shop created' }).waitFor()
  const left = await page.evaluate(async () => Promise.all(['virtualservice', 'pool', 'vsvip'].map(async (kind) => (await (await fetch(`/api/${kind}`, { headers: { 'X-Avi-Version': '30.2.1' } })).json()).count)))
  hold(left.every((count) => count === 0), `there are ${left} services, pools and addresses`)
})

await step('the set-up is over', async () => {
  await page.goto(`${url}/`)
  await heading('Overview')
  const config = await page.evaluate(async () => (await fetch('/api/systemconfiguration', { headers: { 'X-Avi-Version': '30.2.1' } })).json())
  hold(config.welcome_workflow_complete === true && config.portal_configuration.minimum_password_length === 12, 'the configuration does not say so')
})

engine?.kill('SIGTERM')
await browser.close()
