// The form of time that <input type="datetime-local"> has, in the zone of the page.
import { zoneNow } from './zone'

/** 2026-11-26T14:02:11 */
export function localText(atMs: number): string {
  const offsetMs = zoneNow() ? 0 : new Date(atMs).getTimezoneOffset() * 60_000
  return new Date(atMs - offsetMs).toISOString().slice(0, 19)
}

/** The time of such a text, in ms; NaN if it is none. */
export function localTime(text: string): number {
  return Date.parse(zoneNow() ? `${text}Z` : text)
}
