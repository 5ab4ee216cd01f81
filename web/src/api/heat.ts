// How many requests took how long, over time: the buckets of the histogram weir_service_total_seconds.
import { stamp } from '../time/range'
import type { Matrix } from './promql'

/** The requests of a step that took from lowMs to highMs. */
export interface HeatCell {
  /** Index of the step. */
  at: number
  lowMs: number
  highMs: number
  count: number
}

export interface Heat {
  /** Ends of the steps, in s. */
  times: number[]
  stepS: number
  cells: HeatCell[]
}

export function heatOf(answer: Matrix, fromS: number, toS: number, stepS: number): Heat {
  const times: number[] = []
  for (let at = fromS; at <= toS + 0.001; at += stepS) times.push(at)
  const cells = (answer.data.result ?? []).flatMap((series) =>
    (series.histograms ?? []).flatMap(([atS, histogram]) =>
      (histogram.buckets ?? []).map(([, low, high, count]) => ({ at: Math.round((atS - fromS) / stepS), lowMs: Number(low) * 1000, highMs: Number(high) * 1000, count: Number(count) })),
    ),
  )
  return { times, stepS, cells: cells.filter((cell) => cell.count > 0 && Number.isFinite(cell.highMs) && cell.highMs > 0) }
}

/** The bounds of the latencies in a heat map, in ms: at least a factor of ten apart. */
export function latencies(heat: Heat): { lowMs: number; highMs: number } {
  const lowMs = Math.max(0.001, Math.min(...heat.cells.map((cell) => cell.lowMs || cell.highMs / 2), 1e9))
  const highMs = Math.max(...heat.cells.map((cell) => cell.highMs), 0)
  if (highMs === 0) return { lowMs: 0.1, highMs: 1000 }
  return { lowMs, highMs: Math.max(highMs, lowMs * 10) }
}

export interface Box {
  fromMs: number
  toMs: number
  lowMs: number
  highMs: number
}

/** A box with the time that it is compared with. */
export interface Drawn extends Box {
  ofFromMs: number
  ofToMs: number
}

/** Writes a box for the URL: its time, its latencies in ms, and the time that it is compared with. */
export function writeBox(box: Drawn): string {
  return [`${stamp(box.fromMs)}..${stamp(box.toMs)}`, `${short(box.lowMs)}..${short(box.highMs)}`, `${stamp(box.ofFromMs)}..${stamp(box.ofToMs)}`].join(',')
}

function short(ms: number): string {
  return String(Number(ms.toPrecision(4)))
}

/** Reads the box of the URL; undefined: there is none, or none that makes sense. */
export function readBox(text: string): Drawn | undefined {
  const [time = '', latency = '', of = '', ...more] = text.split(',')
  const [fromMs, toMs] = ends(time, Date.parse)
  const [lowMs, highMs] = ends(latency, Number)
  const [ofFromMs, ofToMs] = ends(of, Date.parse)
  const box = { fromMs, toMs, lowMs, highMs, ofFromMs, ofToMs }
  return more.length === 0 && fromMs < toMs && lowMs >= 0 && lowMs < highMs && ofFromMs < ofToMs ? box : undefined
}

function ends(text: string, read: (end: string) => number): [number, number] {
  const [from = '', to = '', ...more] = text.split('..')
  return more.length > 0 || from === '' || to === '' ? [NaN, NaN] : [read(from), read(to)]
}

/** About how many requests are in a box, and in its time: of a step that is partly inside, a part; of buckets, those with their middle inside. */
export function countIn(heat: Heat, box: Box): { inside: number; all: number } {
  let inside = 0
  let all = 0
  for (const cell of heat.cells) {
    const endMs = (heat.times[cell.at] ?? 0) * 1000
    const stepMs = heat.stepS * 1000
    const part = Math.max(0, Math.min(box.toMs, endMs) - Math.max(box.fromMs, endMs - stepMs)) / stepMs
    all += part * cell.count
    const middle = Math.sqrt(Math.max(cell.lowMs, 0.001) * cell.highMs)
    if (middle >= box.lowMs && middle <= box.highMs) inside += part * cell.count
  }
  return { inside, all }
}

/** Requests by latency, in bands that are half of the next one: 1, 2, 4 … ms. */
export function bandsOf(heat: Heat): { lowMs: number; highMs: number; count: number }[] {
  const bands = new Map<number, number>()
  for (const cell of heat.cells) {
    const octave = Math.floor(Math.log2(Math.sqrt(Math.max(cell.lowMs, 0.001) * cell.highMs)))
    bands.set(octave, (bands.get(octave) ?? 0) + cell.count)
  }
  return [...bands].toSorted((a, b) => a[0] - b[0]).map(([octave, count]) => ({ lowMs: 2 ** octave, highMs: 2 ** (octave + 1), count }))
}
