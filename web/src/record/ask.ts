// Asks for records: a list, their number over time, and their most frequent values.
import { call } from '../api/client'
import { type Data, useReading } from '../api/useData'
import { boundsOf, type Range, stamp } from '../time/range'
import { fieldOf, type Kind } from '../api/fields'
import { conditionsIn } from '../api/filter'
import { exportPage } from './exported'

/** A record as the API has it: fields by Avi's names. */
export type Entry = Record<string, unknown> & { report_timestamp: string }

interface Missing {
  reason?: string
  lost?: number
  refused?: number
}

export interface Answer<T> {
  count: number
  /** What the weights of all records in count add up to. */
  weight?: number
  results: T[]
  percent_remaining: number
  /** Requests that no record stands for yet. */
  unrecorded?: number
  missing?: Missing
}

export interface Bucket {
  start: string
  end: string
  value: number
  [field: string]: unknown
}

export interface Top {
  value: string
  count: number
}

/** What all questions of an explorer have in common. */
export interface Question {
  kind: Kind
  /** uuid of the virtual service; empty: all. */
  service: string
  text: string
  range: Range
  /** Infinity: once. */
  everyMs: number
}

const timeoutS = 10
const pageTimeoutS = 60 // of a large page that somebody waits for

function pathOf({ kind, service, text, range }: Question, more: [string, string][], timeout = timeoutS): string {
  const { fromMs, toMs } = boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: kind.liveS } : range, Date.now())
  const form = new URLSearchParams({ type: String(kind.type), start: stamp(fromMs), timeout: String(timeout) })
  if (range.kind === 'fixed') form.set('end', stamp(toMs))
  if (service) form.set('virtualservice', service)
  for (const condition of conditionsIn(text, kind)) form.append('filter', condition)
  for (const [name, value] of more) form.append(name, value)
  return `/api/analytics/logs?${form}`
}

function keyOf(what: string, { kind, service, text, range }: Question, more: unknown): string {
  return JSON.stringify([what, kind.name, service, conditionsIn(text, kind), range, more])
}

export function useEntries(question: Question, size: number): Data<Answer<Entry>> {
  return useReading(keyOf('entries', question, size), question.everyMs, (tenant, signal, background) =>
    call<Answer<Entry>>(pathOf(question, [['page_size', String(size)], ['orderby', '-report_timestamp']]), { tenant, signal, background }),
  )
}

/** One page of all records of a range that does not move, newest first. */
export function pageOf(question: Question, page: number, request: { tenant: string; signal: AbortSignal }): Promise<Answer<Entry>> {
  return call<Answer<Entry>>(pathOf(question, [['page', String(page)], ['page_size', String(exportPage)], ['orderby', '-report_timestamp']], pageTimeoutS), request)
}

export interface Counted {
  fromMs: number
  toMs: number
  stepMs: number
  buckets: Bucket[]
}

const barsMost = 90
const stepsS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800, 604_800]

/** How many records there are in each step of the range, by what the kind distinguishes. */
export function useCounts(question: Question): Data<Counted> {
  return useReading(keyOf('counts', question, 0), question.everyMs, async (tenant, signal, background) => {
    const { kind, range } = question
    const { fromMs, toMs } = boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: kind.liveS } : range, Date.now())
    const stepS = stepsS.find((step) => (toMs - fromMs) / 1000 / step <= barsMost) ?? 604_800
    const more: [string, string][] = [['step', String(stepS)]]
    if (range.kind !== 'fixed') more.push(['end', stamp(toMs + 60_000)])
    if (kind.stack) more.push(['groupby', kind.stack])
    if (kind.isWeighted) more.push(['cols', 'sum(weight)'])
    const answer = await call<Answer<Bucket>>(pathOf(question, more), { tenant, signal, background })
    return { fromMs, toMs, stepMs: stepS * 1000, buckets: answer.results }
  })
}

const topMost = 6

interface Facet {
  field: string
  values: { value: unknown; count: number; weight: number }[]
}

/** The most frequent values of the fields by which one narrows down, all with one question. */
export function useTops(question: Question): Data<Map<string, Top[]>> {
  return useReading(keyOf('tops', question, 0), question.everyMs, async (tenant, signal, background) => {
    const { kind } = question
    const names = new Map<string, string>()
    for (const name of kind.narrow) {
      const field = fieldOf(kind, name)?.field
      if (field && !(question.service && name === 'service')) names.set(field, name)
    }
    const more: [string, string][] = [['facets', [...names.keys()].join(',')], ['page_size', String(topMost)]]
    const answer = await call<Answer<Facet>>(pathOf(question, more), { tenant, signal, background })
    const found = new Map<string, Top[]>()
    for (const { field, values } of answer.results) {
      found.set(names.get(field) ?? field, values.map((top) => ({ value: String(top.value), count: top.weight })))
    }
    return found
  })
}
