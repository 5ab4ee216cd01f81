import { expect, test } from 'vitest'
import { figuresOf, needOf } from './figures'
import type { Counters, Service, ServiceRuntime } from './types'

function runtime(state: string, reason: string[], perSecond: Record<string, number>, p95 = 10): ServiceRuntime {
  const statistics = { mean: 1, p50: 1, p95, p99: 2 * p95 }
  return {
    oper_status: { state, reason },
    counters: { requests: 100, open_connections: 7, per_second: perSecond } as unknown as Counters,
    times: { seconds: 60, requests: 100, total_ms: statistics, wait_ms: statistics, server_rtt_ms: statistics, app_response_ms: statistics, transfer_ms: statistics },
  }
}

const need = (of: ServiceRuntime) => needOf({ uuid: 'a', name: 'a', runtime: of } as Service, figuresOf(of))

test('ranks by what hurts clients most', () => {
  expect(need(runtime('OPER_DOWN', ['no server is up'], { requests: 0 }))).toBe('down')
  expect(need(runtime('OPER_UP', ['1 of 3 servers is down'], { requests: 100, responses_5xx: 1 }))).toBe('errors')
  expect(need(runtime('OPER_UP', ['1 of 3 servers is down'], { requests: 100 }))).toBe('degraded')
  expect(need(runtime('OPER_UP', [], { requests: 100 }, 600))).toBe('slow')
  expect(need(runtime('OPER_UP', [], { requests: 100 }))).toBe('fine')
  expect(need(runtime('OPER_DISABLED', ['enabled is false'], {}))).toBe('disabled')
})

test('says nothing about shares and slowness of little traffic', () => {
  const little = runtime('OPER_UP', [], { requests: 0.5, responses_5xx: 0.5 }, 9000)
  expect(figuresOf(little).errors).toBeUndefined()
  expect(need(little)).toBe('fine')
})

test('takes what streams say before what a page said', () => {
  const line = { uuid: 'a', state: 'OPER_UP', recent_requests_per_s: [], point: { at_ms: 1, requests_per_s: 8, errors_per_s: 2, open_connections: 3, p99_ms: 5 } }
  expect(figuresOf(runtime('OPER_UP', [], { requests: 1 }), line)).toMatchObject({ rate: 8, errors: 0.25, p99: 5, open: 3 })
})
