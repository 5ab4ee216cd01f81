import { expect, test } from 'vitest'
import { bandsOf, countIn, heatOf, latencies } from './heat'
import type { Matrix } from './promql'

const answer: Matrix = {
  data: {
    result: [{ metric: {}, histograms: [[60, { count: '13', buckets: [[0, '0.001', '0.0011', '9'], [0, '0.1', '0.11', '4'], [0, '0.2', '0.22', '0']] }], [180, { count: '1', buckets: [[0, '0.5', '0.55', '1']] }]] }],
  },
}

test('buckets become cells in ms, at their step', () => {
  const heat = heatOf(answer, 60, 180, 60)
  expect(heat.times).toEqual([60, 120, 180])
  expect(heat.cells.map(({ at, count }) => [at, count])).toEqual([[0, 9], [0, 4], [2, 1]])
  const { lowMs, highMs } = latencies(heat)
  expect([lowMs, highMs]).toEqual([1, 550])
})

test('a box counts what is inside, and what there is in its time', () => {
  const heat = heatOf(answer, 60, 180, 60)
  expect(countIn(heat, { fromMs: 0, toMs: 60_000, lowMs: 50, highMs: 1000 })).toEqual({ inside: 4, all: 13 })
  expect(countIn(heat, { fromMs: 61_000, toMs: 119_000, lowMs: 0, highMs: 1e6 })).toEqual({ inside: 0, all: 0 })
})

test('bands double', () => {
  expect(bandsOf(heatOf(answer, 60, 180, 60))).toEqual([{ lowMs: 1, highMs: 2, count: 9 }, { lowMs: 64, highMs: 128, count: 4 }, { lowMs: 512, highMs: 1024, count: 1 }])
})

test('nothing has bounds all the same', () => {
  expect(latencies(heatOf({ data: { result: null } }, 0, 60, 60))).toEqual({ lowMs: 0.1, highMs: 1000 })
})
