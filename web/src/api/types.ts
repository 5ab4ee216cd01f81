// What the pages read of the answers of the API. Fields that a page does not read are not here.

export interface OperStatus {
  state: string
  reason: string[]
  last_changed_time?: string
}

export type PerSecond = Record<string, number>
/** Totals by name, and what came per second between the last two samples. */
export type Counters = Record<string, number> & { per_second?: PerSecond }

export interface Statistics {
  mean: number
  p50: number
  p95: number
  p99: number
}

/** What was measured in the last `seconds`: absent if nothing was. */
export interface Times {
  seconds: number
  requests: number
  total_ms?: Statistics
  wait_ms?: Statistics
  server_rtt_ms?: Statistics
  app_response_ms?: Statistics
  transfer_ms?: Statistics
  client_rtt_ms?: Statistics
  client_rtt_connections?: number
}

export interface ServerTimes {
  seconds: number
  responses: number
  app_response_ms?: Statistics
  connect_ms?: { mean: number }
}

export interface Finding {
  kind: string
  name: string
  field: string
  message: string
  engine?: string
}

export interface Applied {
  revision: number
  engines_total: number
  engines_applied: number
  text: string
  refusals: { engine: string; revision: number; errors: Finding[] }[]
}

export interface Seat {
  uuid: string
  name: string
  role: string
  state: string
  cause: string
  since: string
  applied: boolean
  active_on_se: boolean
  advertised: boolean
  connections_percent?: number
  oper_status: OperStatus
}

/** null: the object is disabled, or its analytics are. */
export interface HealthScore {
  health_score: number | null
  weir_band: string
  reason?: string
}

export interface ServiceRuntime {
  health_score?: HealthScore
  oper_status: OperStatus
  num_se_requested?: number
  num_se_assigned?: number
  service_engine?: Seat[]
  applied?: Applied
  warnings?: Finding[]
  counters?: Counters
  times?: Times
  /** Pools beside its own that requests go to because of a rule of its policies. */
  rule_pools?: { pool_ref: string; name: string }[]
  group_pools?: { pool_ref: string; name: string; ratio: number; priority: number }[]
  backup_pools?: { pool_ref: string; name: string }[]
  /** Servers of its pools that need far longer for their answers than the others. */
  slow_servers?: { server_id: string; pool_ref: string; app_response_mean_ms: number; others_mean_ms: number; percent_of_responses: number; since: string }[]
  /** What TLS handshakes with clients agreed on, and why others failed. */
  tls?: {
    handshakes: { version: string; cipher_suite?: string; group?: string; key?: string; resumed?: boolean; total: number; per_second?: number }[]
    failures: { reason: string; total: number; per_second?: number }[]
  }
}

export interface Named {
  uuid: string
  name: string
}

export interface Service extends Named {
  description?: string
  enabled?: boolean
  type?: string
  services?: { port: number; port_range_end?: number; enable_ssl?: boolean; enable_http2?: boolean; override_application_profile_ref?: string }[]
  vsvip_ref?: string
  pool_ref?: string
  application_profile_ref?: string
  se_group_ref?: string
  tenant_ref?: string
  vh_parent_vs_ref?: string
  runtime?: ServiceRuntime
}

export interface Address {
  addr: string
}

export interface Vip extends Named {
  vip?: { ip_address?: Address; ip6_address?: Address }[]
}

export interface ServerRuntime {
  health_score?: HealthScore
  server_id: string
  hostname: string
  oper_status: OperStatus
  counters?: Counters
  times?: ServerTimes
  /** It needs far longer than the others of its pool. */
  slow?: { app_response_mean_ms: number; others_mean_ms: number; percent_of_responses: number; since: string }
  engines: { engine: string; oper_status: OperStatus; monitors: { health_monitor_ref: string; up: boolean; reason: string; response_time_us: number }[] }[]
}

/** An order for more or fewer servers, and how far it is. */
export interface ScaleOrder {
  phase: string
  since: string
  num_servers: number
  result?: string
  /** Those that leave. */
  servers?: string[]
}

/** How a pool with a policy is scaled. */
export interface Autoscale {
  policy_ref: string
  reason: string
  size: number
  min_size: number
  max_size: number
  scaleout?: ScaleOrder
  scalein?: ScaleOrder
}

export interface Pool extends Named {
  description?: string
  lb_algorithm?: string
  health_monitor_refs?: string[]
  runtime?: {
    health_score?: HealthScore
    oper_status: OperStatus
    num_servers?: number
    num_servers_enabled?: number
    num_servers_up?: number
    servers?: ServerRuntime[]
    autoscale?: Autoscale
  }
}

export interface BgpPeer {
  peer_ip: string
  router_id?: string
  label?: string
  peer_state: string
  remote_as?: number
  since?: string
  reason?: string
  bfd_state?: string
}

export interface Worker {
  worker: number
  cpu_percent?: number
  open_connections: number
  per_second?: { batches: number; events: number }
}

export interface EngineRuntime {
  health_score?: HealthScore
  oper_status: OperStatus
  se_connected: boolean
  since: string
  version: string
  dataplane: { state: string; since?: string; restarts: number; workers?: number; cpu_percent?: number; rss_bytes?: number; reason: string }
  applied: { revision: number; wanted_revision: number; current: boolean }
  counters?: Counters
  resources?: { num_vcpus: number; memory_bytes: number; hostname: string; addresses: string[] }
  workers?: Worker[]
  bgp?: { peers: BgpPeer[]; advertised_routes?: { prefix: string; peers: string[]; since?: string; virtualservice_refs?: string[] }[] }
  detours?: Record<string, number>
  warnings?: Finding[]
  refusal?: { revision: number; errors: Finding[] }
}

export interface Engine extends Named {
  description?: string
  enable_state?: string
  se_group_ref?: string
  runtime?: EngineRuntime
}

export interface Happening {
  report_timestamp: string
  event_id: string
  obj_type: string
  obj_uuid: string
  obj_name: string
  event_description: string
}

export interface AuditEntry {
  time: string
  user: string
  address: string
  tenant: string
  action: string
  kind: string
  object: string
  /** Of the object; missing: it is not known, or there is none. */
  name?: string
  refused?: string
}

export interface List<T> {
  count: number
  results: T[]
  next?: string
}

/** The uuid in a reference such as https://host/api/pool/pool-1#web. */
export function uuidOf(reference: string | undefined): string {
  return (reference ?? '').split('#')[0]?.split('/').pop() ?? ''
}

/** The name in a reference such as https://host/api/pool/pool-1#web. */
export function nameOf(reference: string | undefined): string {
  const at = (reference ?? '').indexOf('#')
  return at < 0 ? '' : (reference ?? '').slice(at + 1)
}
