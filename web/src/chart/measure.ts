// What a chart shows: lines, each with its value in a live point and its expression in PromQL.
import type { Point } from '../api/series'

export interface Line {
  key: string
  name: string
  /** A token of tokens.css without the dashes. */
  colour: 'accent' | 'bad' | 'warn' | 'good' | 'transfer' | 'server-rtt'
  dash?: number[]
  /** Its value in a live point; missing: the stream does not have it. */
  live?: (point: Point) => number | undefined
  /** The metric whose band of what is usual belongs to the line, by what its values are multiplied, and its name if that is another. */
  usual?: { metric: string; factor?: number; name?: string }
  /** PromQL with $w and $h for windows; the value is in the unit of the measure. */
  expression: string
}

export interface Measure {
  key: string
  name: string
  write: (value: number | null) => string
  lines: Line[]
}

export interface Summary {
  mean: number | null
  most: number | null
  last: number | null
}

/** What a line says in a row of a table. */
export function summaryOf(values: (number | null)[]): Summary {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return { mean: null, most: null, last: null }
  return { mean: known.reduce((sum, value) => sum + value, 0) / known.length, most: Math.max(...known), last: known.at(-1) ?? null }
}

/** Bytes in both directions, in a live point. */
export function bothOf({ sent_bytes_per_s, received_bytes_per_s }: Point): number | undefined {
  return sent_bytes_per_s === undefined || received_bytes_per_s === undefined ? undefined : sent_bytes_per_s + received_bytes_per_s
}
