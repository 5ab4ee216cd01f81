// How busy an engine is.
import type { EngineRuntime, Service } from '../api/types'

/** CPU time of the data plane as a share of what its workers can use: 1 is all workers busy. */
export function busy(runtime: EngineRuntime | undefined): number | undefined {
  const cpu = runtime?.dataplane.cpu_percent
  return cpu === undefined ? undefined : cpu / 100 / Math.max(1, runtime?.dataplane.workers ?? 1)
}

/** The virtual services that an engine has been given. */
export function seatsOf(uuid: string, services: Service[]): Service[] {
  return services.filter((service) => service.runtime?.service_engine?.some((seat) => seat.uuid === uuid))
}

export interface Edge {
  /** A router is known by its id, or by its address while there was no session. */
  router: string
  engine: string
  isUp: boolean
}

/** Which engine has sessions with which router: several sessions, one for IPv4 and one for IPv6, are one edge. */
export function edgesOf(engines: { uuid: string; runtime?: EngineRuntime }[]): Edge[] {
  return engines.flatMap((engine) => {
    const edges = new Map<string, Edge>()
    for (const peer of engine.runtime?.bgp?.peers ?? []) {
      const router = peer.router_id || peer.peer_ip
      edges.set(router, { router, engine: engine.uuid, isUp: peer.peer_state === 'Established' || (edges.get(router)?.isUp ?? false) })
    }
    return [...edges.values()]
  })
}

/** Shares of the requests by engine; undefined: there are none. */
export function sharesOf(engines: { uuid: string; runtime?: EngineRuntime }[]): Map<string, number> | undefined {
  const rates = engines.map((engine) => engine.runtime?.counters?.per_second?.['requests'] || engine.runtime?.counters?.per_second?.['connections'] || 0)
  const total = rates.reduce((sum, rate) => sum + rate, 0)
  if (total < 1) return undefined
  return new Map(engines.map((engine, at) => [engine.uuid, (rates[at] ?? 0) / total]))
}
