// What a record is about in one line, and its times as parts of a bar. The controller tells its stages.
import { ms } from '../time/format'
import { type PartName, partNames } from '../time/parts'
import type { Entry } from './ask'

export interface Part {
  key: PartName
  name: string
  ms: number
}

export function text(entry: Entry, field: string): string {
  const value = entry[field]
  if (Array.isArray(value)) return value.map(String).join(', ')
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function number(entry: Entry, field: string): number | undefined {
  const value = entry[field]
  const found = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN
  return Number.isFinite(found) ? found : undefined
}

/** A time in ms: from its field in microseconds where there is one, which is more exact. */
export function timeOf(entry: Entry, name: string): number | undefined {
  const exact = number(entry, `${name}_us`)
  return exact !== undefined ? exact / 1000 : number(entry, name)
}

/** The parts of the total time, in their order. */
export function partsOf(entry: Entry): Part[] {
  const parts: [PartName, string][] = [['client_rtt', 'client_rtt'], ['wait', 'wait'], ['server_rtt', 'server_rtt'], ['app_response', 'app_response_time'], ['transfer', 'data_transfer_time']]
  return parts.flatMap(([key, field]) => {
    const took = timeOf(entry, field)
    return took === undefined ? [] : [{ key, name: partNames[key], ms: took }]
  })
}

/** "GET /pay: 502 after 2.0 s" */
export function headline(entry: Entry): string {
  if (text(entry, 'lost_reason')) return `${text(entry, 'lost')} records are missing: ${text(entry, 'lost_reason')}`
  const what = [text(entry, 'method'), text(entry, 'uri_path') || text(entry, 'protocol') || text(entry, 'event_id') || 'Connection'].filter(Boolean).join(' ')
  const status = text(entry, 'response_code')
  const took = timeOf(entry, 'total_time')
  return `${what}${status && status !== '0' ? `: ${status}` : ''}${took === undefined ? '' : ` after ${ms(took)}`}`
}

/** ADF_RESPONSE_CODE_5XX → response code 5xx */
export function reasons(entry: Entry): string {
  return text(entry, 'significant_log').replaceAll('ADF_', '').replaceAll('_', ' ').toLowerCase()
}
