import { expect, test } from 'vitest'
import { concerns } from './concerns'

test('an event concerns the server that it names, and all servers if it names none', () => {
  for (const [text, is] of [
    ['web-pool: server 10.0.0.1:80 is down: refused', true],
    ['web-pool: server 10.0.0.1:80: mean time of answers is 400, 9.0 σ above', true],
    ['web-pool: server 10.0.0.1:80 needs 402ms for an answer, the others 10ms', true],
    ['web-pool: server 10.0.0.1:8080 is up', false],
    ['web-pool: server [fd00::1]:80: responses with 5xx is 12', false],
    ['web-pool: is down: no server', true],
    ['web-pool: open connections is 900, 5.0 σ above the last hour’s habit of 100', true],
  ] as const) expect([text, concerns(text, '10.0.0.1:80')]).toEqual([text, is])
  expect(concerns('web-pool: server [fd00::1]:80: responses with 5xx is 12', '[fd00::1]:80')).toBe(true)
})
