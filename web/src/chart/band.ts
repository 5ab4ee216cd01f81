// The bands of what is usual in a chart, in the unit of its measure.
import type { Frame } from '../api/promql'
import { type Step, type Usual, usualAt } from '../api/usual'
import type { Line, Measure } from './measure'

export interface Band {
  line: Line
  steps: Step[]
}

/** The ids of the metrics whose bands belong to some measures. */
export function metricsOf(measures: Measure[]): string[] {
  return measures.flatMap((measure) => measure.lines).flatMap((line) => (line.usual ? [line.usual.metric] : []))
}

export function bandsOf(measure: Measure, usual: Usual | undefined): Band[] {
  return measure.lines.flatMap((line) => {
    const steps = line.usual && usual?.get(line.usual.metric)
    if (!line.usual || !steps) return []
    const { factor = 1 } = line.usual
    return [{ line, steps: steps.map((step) => ({ ...step, low: step.low * factor, high: step.high * factor })) }]
  })
}

/** The top of a chart whose lines reach most: a band that is far wider than the lines is cut, so that these stay readable. */
export function topOf(most: number, bands: Band[], fromS: number, toS: number): number {
  const highs = bands.flatMap((band) => band.steps.filter((step) => step.toS > fromS && step.fromS < toS)).map((step) => step.high)
  const high = Math.max(0, ...highs)
  const top = Math.max(most, most > 0 ? Math.min(high, 2 * most) : high)
  return top > 0 ? top * 1.1 : 1
}

/** The lines of a chart with what is usual of them, as columns of a table. */
export function columnsOf(measure: Measure, frame: Frame, bands: Band[]): { name: string; values: (number | null)[] }[] {
  const lines = measure.lines.map((line, at) => ({ name: line.name, values: frame.lines[at] ?? [] }))
  const edges = bands.flatMap(({ line, steps }) => (['low', 'high'] as const).map((edge) => ({
    name: `${line.usual?.name ?? line.name}, usual ${edge === 'low' ? 'from' : 'to'}`,
    values: frame.times.map((at) => usualAt(steps, at)?.[edge] ?? null),
  })))
  return [...lines, ...edges]
}
