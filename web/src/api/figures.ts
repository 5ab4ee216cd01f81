// What a virtual service does now, from whichever source the page has: the live stream, or a runtime page.
import type { ServiceLine, SlowServer } from './live'
import { type Service, type ServiceRuntime, uuidOf } from './types'

export interface Figures {
  /** Requests per second, or connections at layer 4, or datagrams. */
  rate: number | undefined
  rateOf: 'requests' | 'connections' | 'datagrams'
  /** Share of responses that are 5xx, from 0 to 1. Undefined below one response a second: it would say nothing. */
  errors: number | undefined
  p50: number | undefined
  p95: number | undefined
  p99: number | undefined
  open: number | undefined
  slow: SlowServer[]
}

const littlePerS = 1

export function figuresOf(runtime: ServiceRuntime | undefined, line?: ServiceLine): Figures {
  const rates = runtime?.counters?.per_second ?? {}
  const rateOf = (rates['received_datagrams'] ?? 0) > 0 ? 'datagrams' : (runtime?.counters?.['requests'] ?? 0) > 0 ? 'requests' : 'connections'
  const figures: Figures = {
    rateOf,
    rate: rateOf === 'requests' ? rates['requests'] : rateOf === 'datagrams' ? rates['received_datagrams'] : rates['connections'],
    errors: share(rates['responses_5xx'] ?? 0, rates['requests']),
    p50: runtime?.times?.total_ms?.p50,
    p95: runtime?.times?.total_ms?.p95,
    p99: runtime?.times?.total_ms?.p99,
    open: runtime?.counters?.['open_connections'],
    slow: line?.slow_servers ?? slowOf(runtime),
  }
  const point = line?.point
  if (!point || rateOf === 'datagrams') return figures
  return {
    rateOf,
    rate: rateOf === 'requests' ? point.requests_per_s : point.connections_per_s,
    errors: share(point.errors_per_s ?? 0, rateOf === 'requests' ? point.requests_per_s : point.connections_per_s),
    p50: point.p50_ms,
    p95: point.p95_ms,
    p99: point.p99_ms ?? figures.p99,
    open: point.open_connections,
    slow: figures.slow,
  }
}

function slowOf(runtime: ServiceRuntime | undefined): SlowServer[] {
  return (runtime?.slow_servers ?? []).map((server) => ({
    id: server.server_id,
    pool: uuidOf(server.pool_ref),
    share: server.percent_of_responses / 100,
    app_response_mean_ms: server.app_response_mean_ms,
    others_mean_ms: server.others_mean_ms,
    since_ms: Date.parse(server.since),
  }))
}

function share(part: number, whole: number | undefined): number | undefined {
  return whole === undefined || whole < littlePerS ? undefined : Math.min(1, part / whole)
}

/** Why a virtual service needs somebody, the most urgent first. The controller's live overview has the same order. */
export const needs = ['down', 'errors', 'degraded', 'slow', 'fine', 'disabled'] as const
export type Need = (typeof needs)[number]

const errorShare = 0.01
const slowMs = 500

export function needOf(service: Service, figures: Figures): Need {
  const status = service.runtime?.oper_status
  const state = status?.state ?? 'OPER_UNKNOWN'
  if (state === 'OPER_DISABLED') return 'disabled'
  if (state === 'OPER_DOWN' || state === 'OPER_RESOURCES' || state === 'OPER_UNUSED') return 'down'
  if ((figures.errors ?? 0) >= errorShare) return 'errors'
  if (state === 'OPER_UP' && (status?.reason.length ?? 0) > 0) return 'degraded'
  if ((figures.rate ?? 0) >= littlePerS && ((figures.p95 ?? 0) > slowMs || figures.slow.length > 0)) return 'slow'
  return 'fine'
}

/** Weir's engines serve what is applied: fewer than all is a change on its way, or one that engines refuse. */
export function appliedText(runtime: ServiceRuntime | undefined): string {
  const applied = runtime?.applied
  if (!applied) return '–'
  return `${applied.engines_applied} of ${applied.engines_total}`
}
