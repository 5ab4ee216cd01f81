// The last five minutes of what an object did, outside of React: charts draw from it, and pages do not render for it.
import type { ServiceRuntime } from './types'

/** What happened in a step that ended at at_ms. A field that is missing is not known: a chart shows a gap. */
export interface Point {
  at_ms: number
  requests_per_s?: number | undefined
  /** By status: 1xx to 5xx. */
  responses_per_s?: number[] | undefined
  errors_per_s?: number | undefined
  failures_per_s?: number | undefined
  connections_per_s?: number | undefined
  open_connections?: number | undefined
  p50_ms?: number | undefined
  p95_ms?: number | undefined
  p99_ms?: number | undefined
  mean_ms?: number | undefined
  wait_mean_ms?: number | undefined
  response_mean_ms?: number | undefined
  transfer_mean_ms?: number | undefined
  received_bytes_per_s?: number | undefined
  sent_bytes_per_s?: number | undefined
  tls_handshakes_per_s?: number | undefined
  /** Of engines. */
  cpu_percent?: number | undefined
  rss_bytes?: number | undefined
}

const spanMs = 5 * 60_000
const seriesMost = 300

export class Series {
  points: Point[] = []
  private readonly listeners = new Set<() => void>()

  /** Adds points that are newer than those it has. */
  add(points: Point[]) {
    const last = this.points.at(-1)?.at_ms ?? 0
    const fresh = points.filter((point) => point.at_ms > last)
    if (fresh.length === 0) return
    const from = (fresh.at(-1)?.at_ms ?? 0) - spanMs
    this.points = [...this.points, ...fresh].filter((point) => point.at_ms >= from)
    for (const listener of this.listeners) listener()
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
}

const all = new Map<string, Series>()

/** The series of an object, by tenant and uuid. When there are too many, the one that was made first is dropped. */
export function seriesOf(key: string): Series {
  const known = all.get(key)
  if (known) return known
  const oldest = all.keys().next().value
  if (all.size >= seriesMost && oldest !== undefined) all.delete(oldest)
  const made = new Series()
  all.set(key, made)
  return made
}

/** The point that a runtime page shows. Its percentiles are those of the last minute. */
export function pointOf(runtime: ServiceRuntime, atMs: number): Point {
  const rates = runtime.counters?.per_second ?? {}
  return {
    at_ms: atMs,
    requests_per_s: rates['requests'],
    errors_per_s: rates['requests'] === undefined ? undefined : (rates['responses_5xx'] ?? 0),
    connections_per_s: rates['connections'],
    open_connections: runtime.counters?.['open_connections'],
    p50_ms: runtime.times?.total_ms?.p50,
    p95_ms: runtime.times?.total_ms?.p95,
    p99_ms: runtime.times?.total_ms?.p99,
    mean_ms: runtime.times?.total_ms?.mean,
    received_bytes_per_s: rates['received_bytes'],
    sent_bytes_per_s: rates['sent_bytes'],
    tls_handshakes_per_s: rates['tls_handshakes'],
  }
}
