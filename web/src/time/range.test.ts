import { expect, test } from 'vitest'
import { boundsOf, drawn, readRange, stepFor, wider, writeRange } from './range'

test('reads what it writes', () => {
  for (const range of [{ kind: 'live' }, { kind: 'recent', seconds: 1800 }, { kind: 'recent', seconds: 90 }, { kind: 'fixed', fromMs: 1_795_720_000_000, toMs: 1_795_720_060_123 }] as const) {
    const { from, to } = writeRange(range)
    expect(readRange(from, to)).toEqual(range)
  }
  expect(writeRange({ kind: 'recent', seconds: 7200 })).toEqual({ from: 'now-2h', to: '' })
})

test('what is no range is live', () => {
  for (const [from, to] of [['', ''], ['now-0m', ''], ['yesterday', ''], ['2026-11-26T10:00:00Z', ''], ['2026-11-26T10:00:00Z', '2026-11-26T09:00:00Z'], ['now-5x', ''], ['<script>', 'now']] as const) {
    expect(readRange(from, to)).toEqual({ kind: 'live' })
  }
})

test('a range is about its end, and a drawn one has a length', () => {
  expect(boundsOf({ kind: 'recent', seconds: 60 }, 100_000)).toEqual({ fromMs: 40_000, toMs: 100_000 })
  expect(drawn(9000, 2000)).toEqual({ kind: 'fixed', fromMs: 2000, toMs: 9000 })
  expect(drawn(2000, 2001)).toEqual({ kind: 'fixed', fromMs: 2000, toMs: 7000 })
})

test('zooming out doubles, and never goes into the future', () => {
  const now = 1_795_720_000_000
  expect(wider({ kind: 'recent', seconds: 60 }, now)).toEqual({ kind: 'recent', seconds: 120 })
  expect(wider({ kind: 'live' }, now)).toEqual({ kind: 'recent', seconds: 600 })
  expect(wider({ kind: 'fixed', fromMs: now - 20_000, toMs: now }, now)).toEqual({ kind: 'fixed', fromMs: now - 40_000, toMs: now })
})

test('a chart has at most a point for two pixels', () => {
  const spans = [300, 1800, 86_400, 604_800, 86_400 * 400]
  expect(spans.map((span) => stepFor(span, 600))).toEqual([5, 10, 300, 3600, 86_400])
  expect(stepFor(86_400, 200)).toBe(900)
})
