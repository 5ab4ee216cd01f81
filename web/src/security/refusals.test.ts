import { expect, test } from 'vitest'
import { causes } from '../api/causes'
import { clientsOf, isRefusal, refusalKinds } from './refusals'

const group = (client_ip: string, request_state: string, count: number, weight: number | null = count) => ({ client_ip, request_state, count, 'sum(weight)': weight })

test('each cause of a refusal is in one line of the chart, and is one that engines count', () => {
  const all = refusalKinds.flatMap((kind) => kind.causes)
  expect(new Set(all).size).toBe(all.length)
  expect(all.filter((cause) => causes[cause] === undefined)).toEqual([])
  expect([isRefusal('client_flood'), isRefusal('server_reset')]).toEqual([true, false])
})

test('clients are in the order of what their records stand for, over requests and connections', () => {
  const clients = clientsOf(
    [group('10.0.0.1', 'client_bad_request', 3, 30), group('10.0.0.2', 'client_head_timeout', 50), group('10.0.0.1', 'client_uri_too_long', 1, null)],
    [group('10.0.0.1', 'client_tls', 40)],
  )
  expect(clients.map((client) => [client.address, client.count])).toEqual([['10.0.0.1', 71], ['10.0.0.2', 50]])
  expect(clients[0]?.causes.map((cause) => [cause.name, cause.count])).toEqual([['client_tls', 40], ['client_bad_request', 30], ['client_uri_too_long', 1]])
})

test('each client and each cause leads to its records', () => {
  const [one, other] = clientsOf([group('2001:db8::1', 'client_bad_request', 9)], [group('10.0.0.2', 'client_tls', 2)])
  const read = (to: string) => Object.fromEntries(new URL(to, 'https://a').searchParams)
  expect(read(one?.to ?? '')).toEqual({ f: 'client:2001:db8::1' })
  expect(read(one?.causes[0]?.to ?? '')).toEqual({ f: 'client:2001:db8::1 state:client_bad_request' })
  expect(read(other?.causes[0]?.to ?? '')).toEqual({ kind: 'connections', f: 'client:10.0.0.2 state:client_tls' })
})
