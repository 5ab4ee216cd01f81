import { expect, test } from 'vitest'
import { liveEngine, liveServer } from './liveRuntime'
import type { Engine, ServerRuntime } from './types'

const server = { server_id: 'a:80', hostname: '', oper_status: { state: 'OPER_UP', reason: [] }, counters: { requests: 9, per_second: { requests: 1, responses_5xx: 2 } }, engines: [] } as unknown as ServerRuntime

test('a server has the rates of now, and keeps what the stream does not have', () => {
  const now = liveServer(server, { id: 'a:80', state: 'OPER_UP', requests_per_s: 7, failures_per_s: 1, connections_per_s: 2, open_connections: 3 })
  expect(now.counters).toEqual({ requests: 9, open_connections: 3, per_second: { requests: 7, connections: 2, failures: 1, responses_5xx: 2 } })
  expect(now.oper_status).toBe(server.oper_status)
  expect(liveServer(server, undefined)).toBe(server)
  const down = liveServer(server, { id: 'a:80', state: 'OPER_DOWN', reason: 'refused' })
  expect([down.oper_status, down.counters]).toEqual([{ state: 'OPER_DOWN', reason: ['refused'] }, server.counters])
})

test('an engine has the load of now', () => {
  const engine = { uuid: 'e', name: 'e', runtime: { dataplane: { workers: 2, cpu_percent: 10 }, counters: { requests: 5 } } } as unknown as Engine
  const now = liveEngine(engine, { at_ms: 1, cpu_percent: 40, requests_per_s: 7, connections_per_s: 1, open_connections: 2, rss_bytes: 3 }).runtime
  expect([now?.dataplane.cpu_percent, now?.dataplane.rss_bytes, now?.counters]).toEqual([80, 3, { requests: 5, open_connections: 2, per_second: { requests: 7, connections: 1 } }])
  expect(liveEngine(engine, undefined)).toBe(engine)
  expect(liveEngine(engine, { at_ms: 1 })).toBe(engine)
})
