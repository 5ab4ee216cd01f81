// The range of time that a page is about, as the URL has it: nothing (live), from=now-30m, or from and to in UTC.

export type Range = { kind: 'live' } | { kind: 'recent'; seconds: number } | { kind: 'fixed'; fromMs: number; toMs: number }

/** What live charts show. */
export const liveSeconds = 300

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const longestS = 456 * 86_400 // what the controller keeps
const shortestMs = 5_000

/** Reads the range of the URL. What cannot be read is live. */
export function readRange(from: string, to: string): Range {
  const relative = /^now-(\d{1,6})([smhd])$/.exec(from)
  if (relative && (to === '' || to === 'now')) {
    const seconds = Number(relative[1]) * (units[relative[2] ?? ''] ?? 0)
    return seconds > 0 ? { kind: 'recent', seconds: Math.min(seconds, longestS) } : { kind: 'live' }
  }
  const fromMs = Date.parse(from)
  const toMs = Date.parse(to)
  return fromMs < toMs ? { kind: 'fixed', fromMs, toMs } : { kind: 'live' }
}

/** Writes a range as the two parameters of the URL; empty ones are left out. */
export function writeRange(range: Range): { from: string; to: string } {
  switch (range.kind) {
    case 'live':
      return { from: '', to: '' }
    case 'recent':
      return { from: `now-${shortest(range.seconds)}`, to: '' }
    case 'fixed':
      return { from: stamp(range.fromMs), to: stamp(range.toMs) }
  }
}

/** 1800 → "30m" */
export function shortest(seconds: number): string {
  for (const unit of ['d', 'h', 'm'] as const) {
    const size = units[unit] ?? 1
    if (seconds % size === 0) return `${seconds / size}${unit}`
  }
  return `${seconds}s`
}

/** 2026-11-26T14:02:11Z, with milliseconds where there are some. */
export function stamp(atMs: number): string {
  return new Date(Math.round(atMs)).toISOString().replace('.000Z', 'Z')
}

/** The begin and the end of a range, at a time. */
export function boundsOf(range: Range, nowMs: number): { fromMs: number; toMs: number } {
  if (range.kind === 'fixed') return { fromMs: range.fromMs, toMs: range.toMs }
  const seconds = range.kind === 'live' ? liveSeconds : range.seconds
  return { fromMs: nowMs - seconds * 1000, toMs: nowMs }
}

/** A range that was drawn on a chart, at least five seconds long. */
export function drawn(oneMs: number, otherMs: number): Range {
  const fromMs = Math.min(oneMs, otherMs)
  return { kind: 'fixed', fromMs: Math.floor(fromMs), toMs: Math.ceil(Math.max(oneMs, otherMs, fromMs + shortestMs)) }
}

/** The range of twice the length around another one. It ends no later than now. */
export function wider(range: Range, nowMs: number): Range {
  const { fromMs, toMs } = boundsOf(range, nowMs)
  if (range.kind !== 'fixed') return { kind: 'recent', seconds: Math.min(longestS, Math.round((2 * (toMs - fromMs)) / 1000)) }
  const end = Math.min(nowMs, toMs + (toMs - fromMs) / 2)
  return { kind: 'fixed', fromMs: Math.max(end - 2 * (toMs - fromMs), nowMs - longestS * 1000), toMs: end }
}

const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]

/** The step of a chart of so many pixels, in s: at most one point for two pixels. Samples are 5 s apart. */
export function stepFor(spanS: number, pixels: number): number {
  return steps.find((step) => spanS / step <= pixels / 2) ?? 86_400
}
