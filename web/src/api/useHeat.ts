import type { Range } from '../time/range'
import { type Heat, heatOf } from './heat'
import { readRange, spanOf } from './history'
import { selector, windowsFor } from './promql'
import { type Data, useReading } from './useData'

const samplesS = 60 // a histogram has a sample each minute
const everyMs = 30_000
const pixelsForColumn = 8

/** Reads the heat map of a virtual service for a picture of so many pixels. */
export function useHeat(uuid: string, range: Range, pixels: number): Data<Heat> {
  const key = JSON.stringify(['heat', uuid, range, Math.round(pixels / 100)])
  return useReading<Heat>(key, range.kind === 'fixed' ? Infinity : everyMs, async (tenant, signal, background) => {
    const span = spanOf(range, pixels / (pixelsForColumn / 2), samplesS)
    const stepS = Math.max(span.stepS, windowsFor(samplesS, span.ageS).histogramS > 180 ? windowsFor(samplesS, span.ageS).histogramS : 0)
    const wide = { ...span, stepS, fromS: Math.ceil(span.fromS / stepS) * stepS }
    const last = Math.max(wide.fromS, Math.floor(span.toS / stepS) * stepS)
    const answer = await readRange(`sum(increase(weir_service_total_seconds${selector({ uuid })}[${stepS}s] anchored))`, { ...wide, toS: last }, { tenant, signal, background })
    return heatOf(answer, wide.fromS, last, stepS)
  })
}
