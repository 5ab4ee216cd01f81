import { expect, test } from 'vitest'
import type { Service } from '../api/types'
import { endingsOf, failuresOf, mixOf, rowOf, sentence } from './tls'

const service = (name: string, counters: Record<string, unknown>, tls?: object) => ({ uuid: name, name, services: [{ port: 443, enable_ssl: true }], runtime: { oper_status: { state: 'OPER_UP', reason: [] }, counters, tls } }) as unknown as Service

test('shares are those of the handshakes', () => {
  const row = rowOf(service('a', { tls_handshakes: 80, tls13_handshakes: 60, tls_resumptions: 20, tls_failures: 20 }))
  expect([row.tls13, row.resumed, row.failed]).toEqual([0.75, 0.25, 0.2])
  expect(rowOf(service('b', {})).tls13).toBeUndefined()
})

test('what handshakes agreed on is added up over services', () => {
  const one = { version: 'TLS 1.3', cipher_suite: 'AES', group: 'X25519', key: 'RSA', resumed: false, total: 3 }
  expect(mixOf([service('a', {}, { handshakes: [one] }), service('b', {}, { handshakes: [{ ...one, total: 4 }, { ...one, resumed: true, total: 1 }] }), service('c', {})]).map((row) => [row.total, row.resumed])).toEqual([[7, false], [1, true]])
})

test('failures are added up by cause, and lead to the service with the most', () => {
  const found = failuresOf([service('a', { errors_client_flood: 1, errors_none: 0, requests: 9, per_second: { errors_client_flood: 1 } }), service('b', { errors_client_flood: 5, errors_no_server: 50 })])
  expect(found.map((one) => [one.name, one.total, one.most.name])).toEqual([['client_flood', 6, 'b'], ['no_server', 50, 'b']])
})

test('certificates are in the order in which they end, and the page says which ends next', () => {
  const now = Date.parse('2026-11-26T00:00:00Z')
  const certificate = (name: string, not_after?: string) => ({ uuid: name, name, certificate: not_after ? { not_after } : {} })
  const endings = endingsOf([certificate('late', '2027-11-26 00:00:00'), certificate('soon', '2026-12-02 01:00:00'), certificate('over', '2026-11-01 00:00:00'), certificate('unknown')], now)
  expect(endings.map((ending) => [ending.certificate.name, ending.days])).toEqual([['over', -25], ['soon', 6], ['late', 365]])
  expect(sentence([], endings, [])).toBe('over has expired. 1 certificate ends within 30 days: soon in 6 days.')
  expect(sentence([], endings.slice(2), [])).toMatch(/^No certificate ends soon/)
})
