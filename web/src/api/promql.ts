// Queries in PromQL about the history of an object. A line of a chart is an expression in which $w is the window of a rate
// and $h that of a histogram; several lines are one query, so that a chart is one request.

export interface Asked {
  key: string
  /** PromQL with $w and $h. */
  expression: string
}

// Samples are 5 s apart for 7 days, then 5 min for 90 days, then an hour; histograms are a minute apart at first.
const tiers = [
  { ageS: 7 * 86_400, windowS: 20, histogramS: 180 },
  { ageS: 90 * 86_400, windowS: 900, histogramS: 900 },
  { ageS: Infinity, windowS: 3 * 3600, histogramS: 3 * 3600 },
]

/** The windows for a chart with steps of stepS whose begin is ageS ago: at least a step, so that no sample is left out. */
export function windowsFor(stepS: number, ageS: number): { windowS: number; histogramS: number } {
  const tier = tiers.find((one) => ageS < one.ageS) ?? tiers[2]!
  return { windowS: Math.max(stepS, tier.windowS), histogramS: Math.max(stepS, tier.histogramS) }
}

export function queryOf(asked: Asked[], stepS: number, ageS: number): string {
  const { windowS, histogramS } = windowsFor(stepS, ageS)
  return asked
    .map(({ key, expression }) => `label_replace(${expression.replaceAll('$w', `${windowS}s`).replaceAll('$h', `${histogramS}s`)}, "line", "${key}", "", "")`)
    .join(' or ')
}

/** {uuid="…"}, with what PromQL would take for more than text escaped. */
export function selector(labels: Record<string, string>): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`)
    .join(',')}}`
}

/** An answer of query_range. */
export interface Matrix {
  data: { result: { metric: Record<string, string>; values?: [number, string][]; histograms?: [number, { count: string; buckets?: [number, string, string, string][] }][] }[] | null }
}

/** Values of several lines at the same times; null: not known. */
export interface Frame {
  /** s since 1970 */
  times: number[]
  lines: (number | null)[][]
}

/** Makes a frame of an answer, with a time for each step: a gap in the answer is one in the frame. */
export function frameOf(answer: Matrix, keys: string[], fromS: number, toS: number, stepS: number): Frame {
  const times: number[] = []
  for (let at = fromS; at <= toS + 0.001; at += stepS) times.push(at)
  const lines = keys.map((key) => {
    const found = new Map<number, number>()
    for (const series of answer.data.result ?? []) {
      if (series.metric['line'] !== key) continue
      for (const [at, value] of series.values ?? []) found.set(Math.round((at - fromS) / stepS), Number(value))
    }
    return times.map((_, index) => {
      const value = found.get(index)
      return value === undefined || !Number.isFinite(value) ? null : value
    })
  })
  return { times, lines }
}
