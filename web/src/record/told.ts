// Asks the controller about one record: what happened, as it tells it, and what would happen to the same request now.
import { call } from '../api/client'
import { condition } from '../api/filter'
import type { Kind } from '../api/fields'
import { type Data, useReading } from '../api/useData'
import { stamp } from '../time/range'
import type { Answer, Entry } from './ask'
import { idOf } from './columns'
import type { Explained, Question } from './question'
import type { Stage } from './stages'

interface Told {
  stages: Stage[]
  record: Entry
}

/** Whether a record has an identity. Events have none, and neither have rows that stand for records that are missing. */
export function hasIdentity(id: string): boolean {
  return !id.includes(' ')
}

/** The record with an identity, as a sentence for each stage. Where the record is known, the controller looks at its time only. */
export function useTold(kind: Kind, id: string, known: Entry | undefined): Data<Told> {
  const form = new URLSearchParams({ type: String(kind.type), ...(known && around(known.report_timestamp)) })
  const path = hasIdentity(id) ? `/api/weir/explain/${encodeURIComponent(id)}?${form}` : null
  return useReading(path, Infinity, (tenant, signal, background) => call<Told>(path ?? '', { tenant, signal, background }))
}

/** The record without an identity that was at the time in its id: null, if it is not there. */
export function useAt(kind: Kind, id: string | null): Data<Entry | null> {
  return useReading(id && `${kind.name} at ${id}`, Infinity, async (tenant, signal, background) => {
    const [at = '', event = '', object = ''] = (id ?? '').split(' ')
    if (Number.isNaN(Date.parse(at))) return null
    const form = new URLSearchParams({ type: String(kind.type), page_size: '1000', ...around(at) })
    const conditions = kind.name === 'events' ? [condition('eq', 'event_id', event), condition('eq', 'obj_uuid', object)] : [condition('ne', 'lost_reason', '')]
    for (const one of conditions) form.append('filter', one)
    const answer = await call<Answer<Entry>>(`/api/analytics/logs?${form}`, { tenant, signal, background })
    return answer.results.find((one) => idOf(one) === id) ?? null
  })
}

/** The range of time that has a record. Times of records may be more exact than those of JavaScript, which end with milliseconds. */
function around(at: string): { start: string; end: string } {
  return { start: at, end: stamp(Math.floor(Date.parse(at)) + 1) }
}

/** What would happen to a request now; null: nobody asks. */
export function useNow(question: Question | null): Data<Explained> {
  return useReading(question && `now ${JSON.stringify(question)}`, Infinity, (tenant, signal, background) =>
    call<Explained>('/api/weir/explain', { method: 'POST', body: question, tenant, signal, background }),
  )
}
