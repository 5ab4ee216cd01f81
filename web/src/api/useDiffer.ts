import { boundsOf, type Range, stamp } from '../time/range'
import { call } from './client'
import { comparedFields, type Difference, differences, type Facet, type Found } from './differ'
import type { Box } from './heat'
import { type Data, useReading } from './useData'

const valuesMost = 100

export interface Differing {
  /** How many requests the records inside stand for. */
  inside: number
  outside: number
  differences: Difference[]
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
    return { inside: inside.all, outside: whole.all - inside.all, differences: differences(inside, whole) }
  })
}

async function facetsOf(uuid: string, fromMs: number, toMs: number, filters: string[], request: { tenant: string; signal: AbortSignal; background: boolean }): Promise<Found> {
  const form = new URLSearchParams({ type: '1', virtualservice: uuid, start: stamp(fromMs), end: stamp(toMs), facets: comparedFields.map((one) => one.field).join(','), page_size: String(valuesMost), timeout: '10' })
  for (const filter of filters) form.append('filter', filter)
  const { results } = await call<{ results: Facet[] }>(`/api/analytics/logs?${form}`, request)
  // Each request has one method, or none: what its values add up to is how many there are.
  const methods = results.find((facet) => facet.field === 'method')?.values ?? []
  return { all: methods.reduce((sum, one) => sum + one.weight, 0), facets: results }
}
