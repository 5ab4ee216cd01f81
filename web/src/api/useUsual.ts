import { useMemo } from 'react'
import { boundsOf, type Range, stamp } from '../time/range'
import { useParam } from '../url/location'
import { call } from './client'
import { useReading } from './useData'
import { type Metrics, stepS, type Usual, usualOf } from './usual'

const knownS = 6 * 3600 // what the controller keeps
const everyMs = 60_000 // as it learns
const none: Usual = new Map()

/** The part of the URL that is "off" where a reader does not want to see what is usual. */
export const usualParam = 'usual'

/** Reads what is usual of some metrics of an object, or of a server of a pool. Undefined: it is not shown, or not read yet. */
export function useUsual(kind: 'virtualservice' | 'pool' | 'serviceengine', uuid: string, metrics: string[], range: Range, server?: string): Usual | undefined {
  const isShown = useParam(usualParam) !== 'off'
  const isKept = range.kind !== 'fixed' || range.toMs > Date.now() - knownS * 1000
  const key = isShown && isKept && metrics.length > 0 ? JSON.stringify(['usual', kind, uuid, server, metrics, range]) : null
  const read = useReading<Metrics>(key, range.kind === 'fixed' ? Infinity : everyMs, (tenant, signal, background) => {
    const now = Date.now()
    const bounds = boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: 900 } : range, now)
    const form = new URLSearchParams({ metric_id: metrics.join(','), step: String(stepS) })
    form.set('start', stamp(aligned(Math.max(bounds.fromMs, now - knownS * 1000), Math.floor)))
    form.set('stop', stamp(aligned(Math.min(bounds.toMs, now), Math.ceil)))
    if (server) form.set('server', server)
    return call<Metrics>(`/api/analytics/metrics/${kind}/${uuid}?${form}`, { tenant, signal, background })
  })
  const answer = key === null ? undefined : read.value
  return useMemo(() => (answer ? usualOf(answer) : key === null && !isKept ? none : undefined), [answer, key, isKept])
}

function aligned(atMs: number, round: (steps: number) => number): number {
  return round(atMs / 1000 / stepS) * stepS * 1000
}
