// How numbers and times are written. All are short, and have their unit.
import { zoneNow } from './zone'

const unknown = '–'
export type Maybe = number | null | undefined

function isKnown(value: Maybe): value is number {
  return value !== null && value !== undefined && Number.isFinite(value)
}

/** 0, 0.25, 3.2, 410, 8.1k, 1.2M */
export function count(value: Maybe): string {
  if (!isKnown(value)) return unknown
  for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const) {
    if (value >= size * 0.9995) return digits(value / size) + unit
  }
  if (value === Math.round(value)) return String(value)
  return value > 0 && value < 0.95 ? String(Number(value.toPrecision(2))) : digits(value)
}

function digits(value: number): string {
  if (value >= 99.95) return value.toFixed(0)
  return value >= 0.095 || value === 0 ? value.toFixed(1) : value.toFixed(2)
}

/** 412, 1 960, 1 234 567: a whole number, exactly. */
export function whole(value: Maybe): string {
  return isKnown(value) ? String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f') : unknown
}

/** 0.004 ms, 0.31 ms, 38.0 ms, 250 ms, 2.1 s */
export function ms(value: Maybe): string {
  if (!isKnown(value)) return unknown
  if (value >= 999.5) return `${(value / 1000).toFixed(value >= 9995 ? 0 : 1)} s`
  if (value >= 99.95) return `${value.toFixed(0)} ms`
  if (value < 0.0005) return '0 ms'
  return `${value.toFixed(value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3)} ms`
}

/** 5.3 · 85 · 220 ms: times beside each other, in the unit of the last. */
export function msRow(values: Maybe[]): string {
  const last = values.at(-1)
  if (!isKnown(last)) return unknown
  const [size, unit] = last >= 999.5 ? [1000, 's'] : [1, 'ms']
  return `${values.map((value) => (isKnown(value) ? digits(value / size) : unknown)).join(' · ')} ${unit}`
}

/** 0 %, 0.02 %, 3.1 %, 100 % of a share from 0 to 1. What is little is not written as nothing. */
export function percent(share: Maybe): string {
  if (!isKnown(share)) return unknown
  const value = share * 100
  if (value === 0) return '0 %'
  if (value < 0.01) return '<0.01 %'
  if (value < 1) return `${value.toFixed(2)} %`
  return value >= 99.95 ? (share < 1 ? '>99.9 %' : '100 %') : `${value.toFixed(1)} %`
}

/** 512 B, 1.2 MB */
export function bytes(value: Maybe): string {
  if (!isKnown(value)) return unknown
  for (const [size, unit] of [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']] as const) {
    if (value >= size) return `${digits(value / size)} ${unit}`
  }
  return `${value.toFixed(0)} B`
}

/** "14:02:11" of today, otherwise with the date. */
export function clock(at: number | string, now = Date.now()): string {
  const ms = typeof at === 'number' ? at : Date.parse(at)
  if (!Number.isFinite(ms)) return unknown
  const { time, date } = writers()
  const day = date.format(ms)
  return day === date.format(now) ? time.format(ms) : `${day} ${time.format(ms)}`
}

/** "14:02:11.345" */
export function clockMs(at: string, now = Date.now()): string {
  const ms = Date.parse(at)
  return Number.isFinite(ms) ? `${clock(ms, now)}.${String(Math.floor(ms) % 1000).padStart(3, '0')}` : unknown
}

interface Writers {
  time: Intl.DateTimeFormat
  date: Intl.DateTimeFormat
}

// To make a writer takes longer than to write: there is one for each zone.
const made = new Map<string | undefined, Writers>()

function writers(): Writers {
  const timeZone = zoneNow()
  const known = made.get(timeZone)
  if (known) return known
  const fresh = { time: new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone }), date: new Intl.DateTimeFormat('en-CA', { timeZone }) }
  made.set(timeZone, fresh)
  return fresh
}

/** "42s", "5m", "3h12m", "4d", as the command line writes it. */
export function age(stamp: string | undefined, now = Date.now()): string {
  const passed = Math.max(0, (now - Date.parse(stamp ?? '')) / 1000)
  if (Number.isNaN(passed)) return unknown
  const minutes = Math.floor(passed / 60)
  if (passed < 60) return `${Math.floor(passed)}s`
  if (minutes < 60) return `${minutes}m`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h${minutes % 60}m`
  return `${Math.floor(minutes / 1440)}d`
}
