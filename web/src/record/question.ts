// The request of a record, asked about once more, and what is answered.
import type { Entry } from './ask'
import { text } from './sentence'
import type { Stage } from './stages'

/** A request as /api/weir/explain takes it. */
export interface Question {
  url: string
  method: string
  address: string
  header: string[]
  client?: string
}

/** The request of a record; undefined if it says too little of it. */
export function questionOf(entry: Entry): Question | undefined {
  const [method, path, query, address, port] = ['method', 'uri_path', 'uri_query', 'vs_ip', 'client_dest_port'].map((name) => text(entry, name)) as [string, string, string, string, string]
  if (!method || !path.startsWith('/') || !address || !port) return undefined
  const isTLS = text(entry, 'ssl_version') !== ''
  const name = text(entry, 'sni_hostname')
  // The host of the URL is the server name of TLS. A client that named none has asked an address.
  const host = isTLS && /^[\w.-]+$/.test(name) ? name : bracketed(address)
  const client = text(entry, 'client_ip')
  return {
    url: `${isTLS ? 'https' : 'http'}://${host}:${port}${inURL(path)}${query ? `?${inURL(query)}` : ''}`,
    method,
    address,
    header: [`Host: ${text(entry, 'host')}`],
    ...(client && { client: `${bracketed(client)}:${text(entry, 'client_src_port') || '0'}` }),
  }
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

/** A part of a target as it was sent: what would end it, or is no escape, is escaped. */
function inURL(part: string): string {
  return part.replace(/%(?![0-9a-f]{2})|#/gi, (found) => (found === '#' ? '%23' : '%25'))
}

export interface ExplainedEngine {
  uuid: string
  name: string
  stages?: Stage[]
}

export interface Explained {
  virtualservice: { uuid: string; name: string }
  engines: ExplainedEngine[]
}

/** The engines, the one of the record first. */
export function enginesOf(explained: Explained, entry: Entry): ExplainedEngine[] {
  const own = text(entry, 'service_engine_uuid')
  return explained.engines.toSorted((a, b) => Number(b.uuid === own) - Number(a.uuid === own))
}
