// The history of numbers, from the PromQL endpoint of the controller.
import { boundsOf, type Range, stepFor } from '../time/range'
import { call } from './client'
import { type Asked, type Frame, frameOf, type Matrix, queryOf } from './promql'
import { type Data, useReading } from './useData'

const everyMs = 5_000 // as samples come

/** Reads the lines of a chart of so many pixels. A range that moves is read again as samples come; null: nothing to read. */
export function useHistory(asked: Asked[] | null, range: Range, pixels: number): Data<Frame> {
  const key = asked && JSON.stringify(['history', asked, range, Math.round(pixels / 100)])
  return useReading<Frame>(key, range.kind === 'fixed' ? Infinity : everyMs, async (tenant, signal, background) => {
    const span = spanOf(range, pixels)
    const answer = await readRange(queryOf(asked ?? [], span.stepS, span.ageS), span, { tenant, signal, background })
    return frameOf(answer, (asked ?? []).map((one) => one.key), span.fromS, span.toS, span.stepS)
  })
}

export interface Span {
  fromS: number
  toS: number
  stepS: number
  /** How long ago it begins. */
  ageS: number
}

/** The steps of a range: they begin at whole multiples of the step, so that a chart that moves keeps its points. */
export function spanOf(range: Range, pixels: number, leastStepS = 5, nowMs = Date.now()): Span {
  const { fromMs, toMs } = boundsOf(range, nowMs)
  const stepS = Math.max(leastStepS, stepFor((toMs - fromMs) / 1000, pixels))
  const fromS = Math.ceil(fromMs / 1000 / stepS) * stepS
  return { fromS, toS: Math.max(fromS, Math.floor(toMs / 1000 / stepS) * stepS), stepS, ageS: (nowMs - fromMs) / 1000 }
}

export function readRange(query: string, span: Span, request: { tenant: string; signal: AbortSignal; background: boolean }): Promise<Matrix> {
  const form = new URLSearchParams({ query, start: String(span.fromS), end: String(span.toS), step: String(span.stepS) })
  return call<Matrix>(`/api/weir/promql/api/v1/query_range?${form}`, request)
}
