// What happened to objects in a range of time: charts mark it.
import { boundsOf, liveSeconds, type Range, stamp } from '../time/range'
import { call } from './client'
import type { Happening, List } from './types'
import { useReading } from './useData'

export interface Mark {
  atMs: number
  text: string
}

const everyMs = 10_000
const most = 40

/** Reads the newest events of some objects. Without a record store there are none. */
export function useMarks(uuids: string[], range: Range): Mark[] {
  const wanted = uuids.filter(Boolean)
  const key = wanted.length ? JSON.stringify(['marks', wanted, range]) : null
  const read = useReading<Mark[]>(key, range.kind === 'fixed' ? Infinity : everyMs, async (tenant, signal, background) => {
    const { fromMs, toMs } = boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: 3 * liveSeconds } : range, Date.now())
    const marks: Mark[] = []
    for (const uuid of wanted) {
      const form = new URLSearchParams({ type: '2', obj_uuid: uuid, start: stamp(fromMs), page_size: String(most) })
      if (range.kind === 'fixed') form.set('end', stamp(toMs))
      const list = await call<List<Happening>>(`/api/analytics/logs?${form}`, { tenant, signal, background })
      for (const event of list.results) marks.push({ atMs: Date.parse(event.report_timestamp), text: `${event.obj_name}: ${event.event_description}` })
    }
    return marks.toSorted((a, b) => b.atMs - a.atMs)
  })
  return read.value ?? none
}

const none: Mark[] = []
