import type { AuditEntry, Happening } from '../api/types'

export interface Change {
  key: string
  at: string
  text: string
  /** The page that says more; missing: there is none. */
  to?: string
}

// What an audit entry needs to be a change: logins are none.
const notChanges = ['login', 'logout']

/** Merges events and the audit trail, newest first. Changes that were refused changed nothing. */
export function changes(events: Happening[], audit: AuditEntry[], names = new Map<string, string>()): Change[] {
  const happened = events.map((event, at) => ({
    key: `event ${event.report_timestamp} ${at}`,
    at: event.report_timestamp,
    text: `${event.obj_name}: ${event.event_description}`,
  }))
  const done = audit
    .filter((entry) => !entry.refused && !notChanges.includes(entry.action))
    .map((entry, at) => ({
      key: `audit ${entry.time} ${at}`,
      at: entry.time,
      text: `${entry.user}: ${entry.action} ${entry.kind} ${entry.name || names.get(entry.object) || entry.object}`,
      to: `/audit?entry=${encodeURIComponent(`${entry.time} ${entry.action} ${entry.object}`)}`,
    }))
  return [...happened, ...done].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
}
