// What a runtime page says, with what the live stream has said since.
import type { Point } from './series'
import type { Counters, Engine, ServerRuntime } from './types'

/** One server of a watched pool. */
export interface ServerLine {
  id: string
  state: string
  reason?: string
  requests_per_s?: number
  failures_per_s?: number
  connections_per_s?: number
  open_connections?: number
}

/** A server with the state and the rates of now. What the stream does not have stays. */
export function liveServer(server: ServerRuntime, line: ServerLine | undefined): ServerRuntime {
  if (!line) return server
  const status = line.state === server.oper_status.state ? server.oper_status : { ...server.oper_status, state: line.state, reason: line.reason ? [line.reason] : [] }
  if (line.requests_per_s === undefined) return { ...server, oper_status: status }
  const counters = { ...server.counters, open_connections: line.open_connections ?? 0, per_second: { ...server.counters?.per_second, requests: line.requests_per_s, connections: line.connections_per_s ?? 0, failures: line.failures_per_s ?? 0 } }
  return { ...server, oper_status: status, counters: counters as unknown as Counters }
}

/** An engine with the load of now. */
export function liveEngine(engine: Engine, point: Point | undefined): Engine {
  const runtime = engine.runtime
  if (!runtime || point?.cpu_percent === undefined) return engine
  const counters = { ...runtime.counters, open_connections: point.open_connections ?? 0, per_second: { ...runtime.counters?.per_second, requests: point.requests_per_s ?? 0, connections: point.connections_per_s ?? 0 } }
  // The stream has the share of what the workers can use; the runtime page that of one core.
  const dataplane = { ...runtime.dataplane, cpu_percent: point.cpu_percent * Math.max(1, runtime.dataplane.workers ?? 1), rss_bytes: point.rss_bytes ?? runtime.dataplane.rss_bytes ?? 0 }
  return { ...engine, runtime: { ...runtime, dataplane, counters: counters as unknown as Counters } }
}
