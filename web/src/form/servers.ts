// Servers as people paste them: a list of addresses and names, with ports and ranges. No I/O.

export interface Server {
  addr: string
  type: 'V4' | 'V6' | 'DNS'
  port: number | undefined
}

export interface Pasted {
  servers: Server[]
  /** What could not be read, and why. */
  problems: string[]
}

const serversMost = 5000
const portMost = 65535

/** Reads "10.0.0.7:8080, 10.0.0.8-20:8080 [2001:db8::1]:80 web.example:80", one or many a line. A range is of the last number. */
export function parseServers(text: string): Pasted {
  const pasted: Pasted = { servers: [], problems: [] }
  const seen = new Set<string>()
  for (const word of text.split(/[\s,;]+/).filter(Boolean)) {
    const found = parseWord(word)
    if (typeof found === 'string') {
      pasted.problems.push(`${word}: ${found}`)
      continue
    }
    for (const server of found) {
      const id = textOf(server)
      if (seen.has(id)) pasted.problems.push(`${id} is there twice`)
      else pasted.servers.push(server)
      seen.add(id)
    }
    if (pasted.servers.length > serversMost) return { servers: [], problems: [`These are more than ${serversMost} servers`] }
  }
  return pasted
}

export function textOf(server: Server): string {
  const host = server.type === 'V6' && server.port !== undefined ? `[${server.addr}]` : server.addr
  return server.port === undefined ? host : `${host}:${server.port}`
}

function parseWord(word: string): Server[] | string {
  const bare = word.replace(/^https?:\/\//, '').replace(/\/$/, '')
  const six = /^\[([0-9a-fA-F:.]+)\](?::(\d+))?$/.exec(bare)
  if (six) return one(six[1] ?? '', 'V6', six[2])
  if ((bare.match(/:/g) ?? []).length > 1) return one(bare, 'V6', undefined)
  const [host = '', port] = bare.split(':')
  const [from = '', to] = host.split('-')
  if (!isV4(from)) return isName(host) ? one(host, 'DNS', port) : 'is no address'
  if (to === undefined) return one(from, 'V4', port)
  const dot = from.lastIndexOf('.') + 1
  const last = to.includes('.') ? (to.startsWith(from.slice(0, dot)) ? to.slice(dot) : 'x') : to
  const begin = Number(from.slice(dot))
  const end = /^\d+$/.test(last) ? Number(last) : Number.NaN
  if (Number.isNaN(end) || end > 255) return 'a range is of the last number, such as 10.0.0.8-20'
  if (end < begin) return `the range ends at ${end}, before it begins`
  const servers: Server[] = []
  for (let at = begin; at <= end; at++) {
    const server = one(from.slice(0, dot) + String(at), 'V4', port)
    if (typeof server === 'string') return server
    servers.push(...server)
  }
  return servers
}

/** A name of DNS, as the controller takes it: the last label has a letter. */
const isName = (host: string) => /^([a-z0-9_-]+\.)*[a-z0-9_-]*[a-z][a-z0-9_-]*\.?$/i.test(host)

function one(addr: string, type: Server['type'], port: string | undefined): Server[] | string {
  if (type === 'V6' && !isV6(addr)) return 'is no address'
  if (port === undefined) return [{ addr, type, port: undefined }]
  const number = /^\d+$/.test(port) ? Number(port) : 0
  if (number < 1 || number > portMost) return `${port} is no port; give 1 to ${portMost}`
  return [{ addr, type, port: number }]
}

export function isV4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

/** Enough to tell an IPv6 address from a mistake; the controller decides. */
export function isV6(text: string): boolean {
  return /^[0-9a-fA-F:]*:[0-9a-fA-F:.]*$/.test(text) && text.length >= 2 && (text.match(/::/g) ?? []).length <= 1
}
