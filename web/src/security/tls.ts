// What the handshakes with clients say of virtual services, and when certificates end.
import type { Grade } from '../api/grade'
import type { Service } from '../api/types'
import { isRefusal } from './refusals'

export interface Handshake {
  version: string
  cipher_suite?: string
  group?: string
  key?: string
  resumed?: boolean
  total: number
  per_second?: number
}

export interface HandshakeFailure {
  reason: string
  total: number
  per_second?: number
}

export interface Row {
  service: Service
  grade: Grade | undefined
  hasTLS: boolean
  handshakes: number
  perSecond: number | undefined
  /** Shares of the handshakes, from 0 to 1; undefined: there were none. */
  tls13: number | undefined
  resumed: number | undefined
  /** Share of those that were tried. */
  failed: number | undefined
  failures: number
}

export function rowOf(service: Service, grade?: Grade): Row {
  const counters = service.runtime?.counters
  const count = (name: string) => counters?.[name] ?? 0
  const handshakes = count('tls_handshakes')
  const failures = count('tls_failures')
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : undefined)
  return {
    service,
    grade,
    hasTLS: (service.services ?? []).some((port) => port.enable_ssl),
    handshakes,
    perSecond: counters?.per_second?.['tls_handshakes'],
    tls13: share(count('tls13_handshakes'), handshakes),
    resumed: share(count('tls_resumptions'), handshakes),
    failed: share(failures, handshakes + failures),
    failures,
  }
}

/** The handshakes of all services together, by what they agreed on, the most frequent first. */
export function mixOf(services: Service[]): Handshake[] {
  const mix = new Map<string, Handshake>()
  for (const row of services.flatMap((service) => service.runtime?.tls?.handshakes ?? [])) {
    const key = [row.version, row.cipher_suite, row.group, row.key, row.resumed].join('|')
    const known = mix.get(key)
    mix.set(key, known ? { ...row, total: known.total + row.total, per_second: (known.per_second ?? 0) + (row.per_second ?? 0) } : row)
  }
  return [...mix.values()].toSorted((a, b) => b.total - a.total)
}

export interface Failure {
  name: string
  total: number
  perSecond: number
  /** The virtual service that has the most of them. */
  most: Service
}

/** The counters errors_… of all services, by cause, those that happen now first. */
export function failuresOf(services: Service[]): Failure[] {
  const found = new Map<string, Failure & { mostTotal: number }>()
  for (const service of services) {
    const counters = service.runtime?.counters ?? ({} as Record<string, number>)
    for (const [counter, total] of Object.entries(counters)) {
      if (!counter.startsWith('errors_') || typeof total !== 'number' || total === 0) continue
      const name = counter.slice('errors_'.length)
      const perSecond = service.runtime?.counters?.per_second?.[counter] ?? 0
      const known = found.get(name) ?? { name, total: 0, perSecond: 0, most: service, mostTotal: 0 }
      found.set(name, { name, total: known.total + total, perSecond: known.perSecond + perSecond, most: total > known.mostTotal ? service : known.most, mostTotal: Math.max(total, known.mostTotal) })
    }
  }
  return [...found.values()].toSorted((a, b) => b.perSecond - a.perSecond || b.total - a.total)
}

export function handshakeFailuresOf(services: Service[]): HandshakeFailure[] {
  const found = new Map<string, HandshakeFailure>()
  for (const row of services.flatMap((service) => service.runtime?.tls?.failures ?? [])) {
    const known = found.get(row.reason)
    found.set(row.reason, { reason: row.reason, total: (known?.total ?? 0) + row.total, per_second: (known?.per_second ?? 0) + (row.per_second ?? 0) })
  }
  return [...found.values()].toSorted((a, b) => b.total - a.total)
}

export interface Certificate {
  uuid: string
  name: string
  type?: string
  certificate?: { not_after?: string; subject?: { common_name?: string; distinguished_name?: string }; self_signed?: boolean; signature_algorithm?: string }
  key_params?: { algorithm?: string }
}

export interface Ending {
  certificate: Certificate
  atMs: number
  days: number
}

/** When certificates end, the next one first. Avi writes "2036-11-23 19:22:40", in UTC. */
export function endingsOf(certificates: Certificate[], nowMs: number): Ending[] {
  return certificates
    .flatMap((certificate) => {
      const text = certificate.certificate?.not_after
      const atMs = text ? Date.parse(`${text.replace(' ', 'T')}Z`) : NaN
      return Number.isFinite(atMs) ? [{ certificate, atMs, days: Math.floor((atMs - nowMs) / 86_400_000) }] : []
    })
    .toSorted((a, b) => a.atMs - b.atMs)
}

const soonDays = 30

/** The sentence that the page begins with. */
export function sentence(rows: Row[], endings: Ending[], failures: Failure[]): string {
  const parts: string[] = []
  const ended = endings.filter((ending) => ending.days < 0)
  const soon = endings.filter((ending) => ending.days >= 0 && ending.days <= soonDays)
  if (ended.length > 0) parts.push(`${ended[0]!.certificate.name}${ended.length > 1 ? ` and ${ended.length - 1} more` : ''} ${ended.length > 1 ? 'have' : 'has'} expired.`)
  if (soon.length > 0) parts.push(`${soon.length === 1 ? '1 certificate ends' : `${soon.length} certificates end`} within ${soonDays} days: ${soon[0]!.certificate.name} in ${soon[0]!.days} days.`)
  const worst = rows.filter((row) => (row.failed ?? 0) >= 0.05 && row.handshakes + row.failures >= 20).toSorted((a, b) => (b.failed ?? 0) - (a.failed ?? 0))[0]
  if (worst) parts.push(`${Math.round((worst.failed ?? 0) * 100)} % of the handshakes with ${worst.service.name} fail.`)
  const weak = rows.filter((row) => row.grade && !['A+', 'A'].includes(row.grade.letter))
  if (weak.length > 0) parts.push(`${weak.length === 1 ? `${weak[0]!.service.name} has` : `${weak.length} services have`} a TLS grade below A.`)
  const refused = failures.filter((failure) => isRefusal(failure.name) && failure.perSecond >= 1)[0]
  if (refused) parts.push(`${refused.most.name} refuses or closes ${Math.round(refused.perSecond)} a second (${refused.name}).`)
  return parts.length > 0 ? parts.join(' ') : 'No certificate ends soon, handshakes succeed, and hardly anything is refused.'
}
