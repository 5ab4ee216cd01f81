// Whether and how an entry of the audit trail can be undone. No I/O.
import type { AuditEntry } from '../api/types'
import { hasSecret, isObject, type Json, type JsonObject, same } from '../api/value'

export interface Entry extends AuditEntry {
  /** The fields that differ, before and after; a text: it was cut off. */
  old?: JsonObject | string
  new?: JsonObject | string
}

export const idOf = (entry: AuditEntry) => `${entry.time} ${entry.action} ${entry.object}`

/** Why an entry cannot be undone; empty: it can, if nobody wrote since. */
export function whyNot(entry: Entry): string {
  if (entry.refused) return 'It was refused, so there is nothing to undo.'
  const { old, new: is } = entry
  switch (entry.action) {
    case 'create':
      return isObject(is) && typeof is['uuid'] === 'string' ? '' : 'The audit trail does not say which object it was.'
    case 'change':
      if (old === undefined && is === undefined) return 'It changed nothing that the audit trail shows.'
      break
    case 'delete':
      if (old === undefined) return 'The audit trail does not have what was deleted.'
      break
    default:
      return 'It changed no object.'
  }
  if (typeof old === 'string' || typeof is === 'string') return 'It is too long for the audit trail, which has only a part of it.'
  return hasSecret(old) || hasSecret(is) ? 'It concerns a secret, and nobody can read the one before.' : ''
}

/** References have a host and a name where they are read, and neither in the audit trail. */
export function normal(value: Json | undefined): Json | undefined {
  if (typeof value === 'string') return value.replace(/^https?:\/\/[^/]+(\/api\/[^#]+)(#.*)?$/, '$1')
  if (Array.isArray(value)) return value.map((item) => normal(item) ?? null)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normal(inner)]))
}

/** The fields of an entry that are not as it left them: somebody has written them since. */
export function writtenSince(entry: Entry, current: JsonObject): string[] {
  const old = isObject(entry.old) ? entry.old : {}
  const is = isObject(entry.new) ? entry.new : {}
  return [...new Set([...Object.keys(old), ...Object.keys(is)])].filter((name) => !same(normal(current[name]), normal(is[name])))
}

/** The object as it was before an entry, with all that others have changed beside it. */
export function before(entry: Entry, current: JsonObject): JsonObject {
  const old = isObject(entry.old) ? entry.old : {}
  const next = { ...current, ...old }
  for (const name of Object.keys(isObject(entry.new) ? entry.new : {})) {
    if (!(name in old)) delete next[name]
  }
  return next
}
