import { expect, test } from 'vitest'
import { clock } from '../time/format'
import { type Known, partsOf, sentence } from './sentence'

const up = { name: 'engine-1', works: true }
const known = (name: string, need: Known['need'], ...reasons: string[]): Known => ({ name, need, reasons })

test('says that all is well', () => {
  expect(sentence([known('web', 'fine')], [up])).toBe('The virtual service is well.')
  expect(sentence([known('a', 'fine'), known('b', 'fine'), known('c', 'disabled', 'enabled is false')], [up])).toBe(
    'All 2 virtual services are well. 1 is disabled.',
  )
})

test('says who needs somebody, and why', () => {
  const errors = { ...known('shop', 'errors', '1 of 3 servers is down'), errors: '3.1 %' }
  expect(sentence([known('web', 'down', 'no server is up'), errors, known('x', 'fine')], [up, { name: 'engine-2', works: false }])).toBe(
    '1 of 3 virtual services is well. web is not served: no server is up. shop: 3.1 % of requests get an error; 1 of 3 servers is down. Engine engine-2 does not serve.',
  )
})

test('names the server that is slow, as a link', () => {
  const slow = [{ id: '10.0.0.7:80', pool: 'pool-1', share: 0.031, app_response_mean_ms: 402, others_mean_ms: 10, since_ms: Date.now() - 60_000 }]
  const since = clock(slow[0]!.since_ms)
  const said = sentence([{ ...known('checkout', 'slow'), slow }, known('web', 'fine')], [up])
  expect(said).toBe(`1 of 2 virtual services is well. checkout is slow for 3.1 % of requests; server 10.0.0.7:80 needs 402 ms (mean) for an answer, the others 10.0 ms, since ${since}.`)
  expect(partsOf(said, slow).map((part) => part.server?.pool ?? part.text)).toEqual([
    '1 of 2 virtual services is well. checkout is slow for 3.1 % of requests; server ', 'pool-1', ` needs 402 ms (mean) for an answer, the others 10.0 ms, since ${since}.`,
  ])
  expect(sentence([{ ...known('a', 'slow'), slow }], [up])).toMatch(/^a is slow for 3.1 % of requests/)
  expect(sentence([{ ...known('a', 'degraded', '1 of 3 servers is down'), slow }], [up])).toContain('servers is down; server 10.0.0.7:80 needs 402')
  const two = [...slow, { ...slow[0]!, id: '10.0.0.17:80', app_response_mean_ms: 90 }]
  expect(sentence([{ ...known('a', 'slow'), slow: two }], [up])).toContain('6.2 % of requests; servers 10.0.0.7:80, 10.0.0.17:80 need up to 402')
  expect(partsOf('nothing about it', slow)).toEqual([{ text: 'nothing about it' }])
})

test('says what to do when there is nothing', () => {
  expect(sentence([], [])).toMatch(/let an engine join/)
  expect(sentence([known('web', 'down', 'no engine')], [])).toMatch(/No engine has joined/)
})
