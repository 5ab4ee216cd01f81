// What the wizards ask for, and the objects that follow from it. No I/O.
import type { JsonObject } from '../api/value'
import { isV4, isV6, type Pasted, type Server } from '../form/servers'

export type Protocol = 'https' | 'http' | 'tcp' | 'udp'

export interface Draft {
  name: string
  protocol: Protocol
  address: string
  port: string
  certificate: 'pick' | 'paste' | 'self'
  /** uuid of an existing certificate. */
  certificateUUID: string
  pem: string
  key: string
  commonName: string
  /** uuid of an existing pool; empty: a new one. */
  pool: string
  servers: string
  /** uuid; empty: none; undefined: that of the protocol. */
  monitor: string | undefined
  algorithm: string
  group: string
  http2: boolean
  advertise: boolean
}

export const empty: Draft = {
  name: '', protocol: 'https', address: '', port: '', certificate: 'self', certificateUUID: '', pem: '', key: '', commonName: '',
  pool: '', servers: '', monitor: undefined, algorithm: 'LB_ALGORITHM_LEAST_CONNECTIONS', group: '', http2: true, advertise: false,
}

export const protocols: { value: Protocol; text: string; says: string }[] = [
  { value: 'https', text: 'HTTPS', says: 'TLS ends at the engines' },
  { value: 'http', text: 'HTTP', says: 'requests, without TLS' },
  { value: 'tcp', text: 'TCP', says: 'connections as they are' },
  { value: 'udp', text: 'UDP', says: 'datagrams, by session' },
]

/** The algorithms that engines have. */
export const algorithms = [
  { value: 'LB_ALGORITHM_LEAST_CONNECTIONS', text: 'least connections' },
  { value: 'LB_ALGORITHM_ROUND_ROBIN', text: 'round robin' },
  { value: 'LB_ALGORITHM_CONSISTENT_HASH', text: 'by the address of the client (consistent hash)' },
]

const usualPorts: Record<Protocol, string> = { https: '443', http: '80', tcp: '', udp: '' }
const usualMonitors: Record<Protocol, string> = { https: 'System-HTTP', http: 'System-HTTP', tcp: 'System-TCP', udp: '' }

export const portOf = (draft: Draft) => draft.port || usualPorts[draft.protocol]
/** The name of the monitor that a protocol begins with; empty: no monitor fits. */
export const usualMonitor = (protocol: Protocol) => usualMonitors[protocol]

export interface Vip {
  uuid: string
  name: string
  address: string
}

export type Input = 'name' | 'address' | 'port' | 'certificate' | 'servers'

/** What is missing or wrong before the controller is asked. */
export function problemsOf(draft: Draft, pasted: Pasted): Partial<Record<Input, string>> {
  const problems: Partial<Record<Input, string>> = {}
  if (!draft.name.trim()) problems.name = 'Give it a name.'
  if (!isV4(draft.address.trim()) && !isV6(draft.address.trim())) problems.address = 'Give the address that clients connect to.'
  const port = Number(portOf(draft))
  if (!Number.isInteger(port) || port < 1 || port > 65535) problems.port = 'Give a port, 1 to 65535.'
  if (draft.protocol === 'https') {
    if (draft.certificate === 'pick' && !draft.certificateUUID) problems.certificate = 'Choose a certificate.'
    if (draft.certificate === 'paste' && !(draft.pem.includes('BEGIN CERTIFICATE') && draft.key.includes('PRIVATE KEY'))) problems.certificate = 'Paste the certificate and its private key, both PEM.'
  }
  const servers = serversProblem(draft, pasted)
  if (servers) problems.servers = servers
  return problems
}

export function serversProblem(draft: Draft, pasted: Pasted): string {
  if (draft.pool) return ''
  if (pasted.problems.length > 0) return pasted.problems.slice(0, 3).join('; ')
  return pasted.servers.length === 0 ? 'Give at least one server.' : ''
}

/** The pool of a draft, for a new one. */
export function poolOf(draft: Draft, name: string, servers: Server[]): JsonObject {
  const pool: JsonObject = {
    name,
    servers: servers.map(({ addr, type, port }) => (port === undefined ? { ip: { addr, type } } : { ip: { addr, type }, port })),
    lb_algorithm: draft.algorithm,
  }
  const monitor = monitorRef(draft)
  if (monitor) pool['health_monitor_refs'] = [monitor]
  if (servers.length > 0 && servers.every((server) => server.port === undefined) && draft.protocol === 'udp' && portOf(draft)) pool['default_server_port'] = Number(portOf(draft))
  return pool
}

function monitorRef(draft: Draft): string {
  if (draft.monitor !== undefined) return draft.monitor && `/api/healthmonitor/${draft.monitor}`
  const name = usualMonitor(draft.protocol)
  return name && `/api/healthmonitor?name=${name}`
}

/** A virtual service with all that it needs, as POST /api/macro takes it. An address that is there is shared. */
export function serviceOf(draft: Draft, servers: Server[], vip: Vip | undefined): JsonObject {
  const name = draft.name.trim()
  const address = draft.address.trim()
  const isHTTPS = draft.protocol === 'https'
  const port: JsonObject = { port: Number(portOf(draft)) }
  if (isHTTPS) port['enable_ssl'] = true
  if (isHTTPS && draft.http2) port['enable_http2'] = true
  const service: JsonObject = { name, services: [port], ...profilesOf(draft.protocol) }
  if (draft.group) service['se_group_ref'] = `/api/serviceenginegroup/${draft.group}`
  if (draft.advertise) service['enable_rhi'] = true
  if (vip) service['vsvip_ref'] = `/api/vsvip/${vip.uuid}`
  else service['vsvip_ref_data'] = { name: `${name}-address`, vip: [{ vip_id: '1', [isV4(address) ? 'ip_address' : 'ip6_address']: { addr: address, type: isV4(address) ? 'V4' : 'V6' } }] }
  if (draft.pool) service['pool_ref'] = `/api/pool/${draft.pool}`
  else service['pool_ref_data'] = poolOf(draft, `${name}-pool`, servers)
  if (isHTTPS) Object.assign(service, certificateOf(draft, name))
  return service
}

function profilesOf(protocol: Protocol): JsonObject {
  if (protocol === 'tcp') return { application_profile_ref: '/api/applicationprofile?name=System-L4-Application', network_profile_ref: '/api/networkprofile?name=System-TCP-Proxy' }
  if (protocol === 'udp') return { application_profile_ref: '/api/applicationprofile?name=System-L4-Application', network_profile_ref: '/api/networkprofile?name=System-UDP-Fast-Path' }
  return { application_profile_ref: '/api/applicationprofile?name=System-HTTP' }
}

const selfSignedDays = 365

function certificateOf(draft: Draft, name: string): JsonObject {
  if (draft.certificate === 'pick') return { ssl_key_and_certificate_refs: [`/api/sslkeyandcertificate/${draft.certificateUUID}`] }
  const certificate: JsonObject = { name: `${name}-certificate`, type: 'SSL_CERTIFICATE_TYPE_VIRTUALSERVICE' }
  if (draft.certificate === 'paste') Object.assign(certificate, { certificate: { certificate: draft.pem }, key: draft.key })
  else {
    certificate['key_params'] = { algorithm: 'SSL_KEY_ALGORITHM_EC', ec_params: { curve: 'SSL_KEY_EC_CURVE_SECP256R1' } }
    certificate['certificate'] = { self_signed: true, subject: { common_name: draft.commonName.trim() || name }, days_until_expire: selfSignedDays }
  }
  return { ssl_key_and_certificate_refs_data: [certificate] }
}

/** The same, with the private key left out: what a page may show. */
export function shown(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value, (name, inner: unknown) => (name === 'key' ? '…' : inner))) as JsonObject
}

/** What will be there afterwards, in words. */
export function willCreate(draft: Draft, servers: Server[], vip: Vip | undefined, tenant = ''): string[] {
  const name = draft.name.trim() || '…'
  const lines: string[] = []
  lines.push(vip ? `uses the address ${vip.address} of ${vip.name}` : `address ${draft.address.trim() || '…'} (VsVip ${name}-address)`)
  if (draft.protocol === 'https') lines.push({ pick: 'uses a certificate that is there', paste: `certificate ${name}-certificate, with its key`, self: `self-signed certificate ${name}-certificate, for ${selfSignedDays} days` }[draft.certificate])
  lines.push(draft.pool ? 'uses a pool that is there' : `pool ${name}-pool with ${servers.length} ${servers.length === 1 ? 'server' : 'servers'}`)
  lines.push(`virtual service ${name}: ${draft.protocol.toUpperCase()} on port ${portOf(draft) || '…'}${tenant && `, in tenant ${tenant}`}`)
  return lines
}

/** The input that a refusal of the controller is about. */
export function inputOf(kind: string, field: string): Input | undefined {
  if (kind === 'vsvip') return 'address'
  if (kind === 'sslkeyandcertificate') return 'certificate'
  if (kind === 'pool') return field === 'name' ? 'name' : 'servers'
  if (field.startsWith('services')) return 'port'
  if (field === 'vsvip_ref') return 'address'
  return field === 'name' ? 'name' : undefined
}
