import { expect, test } from 'vitest'
import { type Known, sentence } from './sentence'

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

test('says what to do when there is nothing', () => {
  expect(sentence([], [])).toMatch(/let an engine join/)
  expect(sentence([known('web', 'down', 'no engine')], [])).toMatch(/No engine has joined/)
})
