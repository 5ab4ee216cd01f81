import { boundsOf, type Range, stamp } from '../time/range'
import { call } from './client'
import { allOf, comparedFields, type Difference, differences, type Facet, type Found, notCompared } from './differ'
import type { Box } from './heat'
import { type Data, useReading } from './useData'

const valuesMost = 100

export interface Differing {
  /** How many requests the records inside stand for. */
  inside: number
  outside: number
  differences: Difference[]
  /** Titles of the fields that have too many values. */
  notCompared: string[]
  /** Not all records could be read in time: nothing is compared. */
  isPartial: boolean
}

/** Compares the records of a service that are in a box of time and latency with the others of the range. */
export function useDiffer(uuid: string, box: Box, range: Range): Data<Differing> {
  return useReading(JSON.stringify(['differ', uuid, box, range]), Infinity, async (tenant, signal, background) => {
    const { fromMs, toMs } = boundsOf(range, Date.now())
    const request = { tenant, signal, background }
    const [inside, whole] = await Promise.all([
      facetsOf(uuid, box.fromMs, box.toMs, [`ge(total_time,"${Math.floor(box.lowMs)}")`, `le(total_time,"${Math.ceil(box.highMs)}")`], request),
      facetsOf(uuid, Math.min(fromMs, box.fromMs), Math.max(toMs, box.toMs), [], request),
    ])
    const isPartial = inside.remaining > 0 || whole.remaining > 0
    return { inside: inside.all, outside: Math.max(0, whole.all - inside.all), differences: isPartial ? [] : differences(inside, whole), notCompared: notCompared(inside, whole), isPartial }
  })
}

async function facetsOf(uuid: string, fromMs: number, toMs: number, filters: string[], request: { tenant: string; signal: AbortSignal; background: boolean }): Promise<Found & { remaining: number }> {
  const form = new URLSearchParams({ type: '1', virtualservice: uuid, start: stamp(fromMs), end: stamp(toMs), facets: comparedFields.map((one) => one.field).join(','), page_size: String(valuesMost), timeout: '10' })
  for (const filter of filters) form.append('filter', filter)
  const { results, percent_remaining: remaining = 0 } = await call<{ results: Facet[]; percent_remaining?: number }>(`/api/analytics/logs?${form}`, request)
  return { all: allOf(results), facets: results, remaining }
}
