// Changes of the servers in a pool. No I/O.
import { isObject, type Json, type JsonObject } from '../api/value'
import type { Server } from '../form/servers'

/** The id of a server in its pool, as the controller writes it: 10.0.0.1:80, [2001:db8::1]:80. */
export function idOf(server: Json | undefined, pool: JsonObject): string {
  if (!isObject(server) || !isObject(server['ip'])) return ''
  const addr = String(server['ip']['addr'] ?? '')
  const port = server['port'] || pool['default_server_port'] || 80
  return addr.includes(':') ? `[${addr}]:${String(port)}` : `${addr}:${String(port)}`
}

const serversOf = (pool: JsonObject) => (Array.isArray(pool['servers']) ? pool['servers'] : [])

/** Enables or disables a server. Error: the pool has no such server. */
export function withServer(pool: JsonObject, id: string, enabled: boolean): JsonObject {
  let found = false
  const servers = serversOf(pool).map((server) => {
    if (idOf(server, pool) !== id || !isObject(server)) return server
    found = true
    return { ...server, enabled }
  })
  if (!found) throw new Error(`The pool has no server ${id} any more, or a name stands for it: change the entry with the name.`)
  return { ...pool, servers }
}

export function withoutServer(pool: JsonObject, id: string): JsonObject {
  const servers = serversOf(pool).filter((server) => idOf(server, pool) !== id)
  if (servers.length === serversOf(pool).length) throw new Error(`The pool has no server ${id} any more, or a name stands for it: change the entry with the name.`)
  return { ...pool, servers }
}

export function withServers(pool: JsonObject, more: Server[]): JsonObject {
  const added = more.map(({ addr, type, port }): JsonObject => ({ ip: { addr, type }, ...(port === undefined ? {} : { port }) }))
  return { ...pool, servers: [...serversOf(pool), ...added] }
}
