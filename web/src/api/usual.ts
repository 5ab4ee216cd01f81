// What is usual: the band in which the controller expects a metric, which it has learned. Charts draw it behind their lines.

/** Of what the controller keeps. */
export const stepS = 300

export interface Step {
  fromS: number
  toS: number
  low: number
  high: number
}

/** By the id of the metric. A metric of which nothing usual is known is missing. */
export type Usual = Map<string, Step[]>

export interface Metrics {
  series: { header: { name: string; server?: string }; data: { timestamp: string; prediction_interval_low?: number; prediction_interval_high?: number }[] }[]
}

/** The bands in an answer about metrics. The timestamp of a value is the end of its step. */
export function usualOf(answer: Metrics): Usual {
  const usual: Usual = new Map()
  for (const { header, data } of answer.series) {
    const steps: Step[] = []
    for (const { timestamp, prediction_interval_low: low, prediction_interval_high: high } of data) {
      const toS = Date.parse(timestamp) / 1000
      if (low !== undefined && high !== undefined) steps.push({ fromS: toS - stepS, toS, low: shown(low), high: shown(high) })
    }
    if (steps.length > 0) usual.set(header.name, steps)
  }
  return usual
}

/** A habit of nothing has a little room around it, which is nothing to a reader. */
function shown(value: number): number {
  return value < 1e-6 ? 0 : value
}

/** What is usual at a time; undefined: it is not known. */
export function usualAt(steps: Step[], atS: number): Step | undefined {
  return steps.find((step) => atS > step.fromS && atS <= step.toS)
}
