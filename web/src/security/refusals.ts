// What Weir refused or closed to protect itself and others, by kind and by client. The other causes of failures are in tls.ts.
import { connections, fieldOf, type Kind, requests } from '../api/fields'
import { withTerm } from '../api/filter'
import type { Line } from '../chart/measure'

export interface RefusalKind {
  key: string
  name: string
  colour: Line['colour']
  dash?: number[]
  /** Of counters errors_… and of request_state in records. */
  causes: string[]
}

export const refusalKinds: RefusalKind[] = [
  { key: 'malformed', name: 'Malformed or too large/s', colour: 'bad', causes: ['client_bad_request', 'client_uri_too_long', 'client_head_too_large', 'client_body_too_large', 'client_proxy_header', 'client_unsupported'] },
  { key: 'slow', name: 'Too slow/s', colour: 'warn', dash: [8, 3], causes: ['client_accept_timeout', 'client_head_timeout', 'client_body_timeout', 'client_stalled'] },
  { key: 'flood', name: 'Floods/s', colour: 'transfer', dash: [2, 3], causes: ['client_flood', 'client_sessions'] },
  { key: 'stranger', name: 'Wrong source or host/s', colour: 'server-rtt', dash: [1, 3], causes: ['client_source_untrusted', 'client_other_host', 'client_unknown_host'] },
  { key: 'denied', name: 'Closed by a rule/s', colour: 'good', dash: [2, 6], causes: ['client_denied', 'client_network_denied'] },
  { key: 'rate', name: 'Beyond a limit/s', colour: 'bad', dash: [6, 2, 2, 2], causes: ['client_request_rate', 'client_connection_rate', 'client_connections', 'client_network_rate'] },
  { key: 'full', name: 'No place/s', colour: 'accent', dash: [5, 3], causes: ['engine_evicted', 'engine_refused', 'engine_sessions', 'engine_memory'] },
]

const refusals = refusalKinds.flatMap((kind) => kind.causes)

export function isRefusal(cause: string): boolean {
  return refusals.includes(cause)
}

/** A handshake that fails is refused, too: of TLS, the counters tell it apart. */
const recorded = [...refusals, 'client_tls']

/** The condition of the API for records of what was refused. */
export const refusedCondition = `any(${recorded.map((cause) => `eq(request_state,${cause})`).join(',')})`

/** How often records of a kind say that a client was refused for a cause. */
export interface Group {
  client_ip: string
  request_state: string
  count: number
  'sum(weight)': number | null
}

export interface Cause {
  name: string
  count: number
  /** Where its records are. */
  to: string
}

export interface Client {
  address: string
  count: number
  to: string
  causes: Cause[]
}

const causesMost = 5

/** The clients in groups of records of requests and of connections, the most refused first. */
export function clientsOf(ofRequests: Group[], ofConnections: Group[]): Client[] {
  const clients = new Map<string, (Cause & { kind: Kind })[]>()
  for (const [kind, groups] of [[requests, ofRequests], [connections, ofConnections]] as const) {
    for (const { client_ip: address, request_state: name, count, 'sum(weight)': weight } of groups) {
      const cause = { name, kind, count: Math.max(count, weight ?? 0), to: recordsOf(kind, address, name) }
      clients.set(address, [...(clients.get(address) ?? []), cause])
    }
  }
  return [...clients].map(([address, found]) => {
    const causes = found.toSorted((a, b) => b.count - a.count)
    return { address, causes: causes.slice(0, causesMost), count: causes.reduce((sum, cause) => sum + cause.count, 0), to: recordsOf(causes[0]?.kind ?? requests, address) }
  }).toSorted((a, b) => b.count - a.count)
}

/** The page with the records of a client. */
function recordsOf(kind: Kind, address: string, cause?: string): string {
  let text = ''
  for (const [name, value] of [['client', address], ['state', cause]] as const) {
    const field = fieldOf(kind, name)
    if (field && value) text = withTerm(text, field, value, false)
  }
  const form = new URLSearchParams({ ...(kind === requests ? {} : { kind: kind.name }), f: text })
  return `/logs?${form}`
}
