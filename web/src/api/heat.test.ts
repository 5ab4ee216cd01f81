import { expect, test } from 'vitest'
import { bandsOf, countIn, heatOf, latencies, readBox, writeBox } from './heat'
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

test('a box is the same after the URL', () => {
  const at = Date.parse('2026-11-26T14:02:11Z')
  const box = { fromMs: at, toMs: at + 90_500, lowMs: 12.5, highMs: 1900, ofFromMs: at - 600_000, ofToMs: at + 120_000 }
  expect(writeBox(box)).toBe('2026-11-26T14:02:11Z..2026-11-26T14:03:41.500Z,12.5..1900,2026-11-26T13:52:11Z..2026-11-26T14:04:11Z')
  expect(readBox(writeBox(box))).toEqual(box)
  expect(readBox(writeBox({ ...box, lowMs: 0.0123456, highMs: 123.456 }))).toEqual({ ...box, lowMs: 0.01235, highMs: 123.5 })
})

test('what is no box is none', () => {
  const time = '2026-11-26T14:02:11Z..2026-11-26T14:03:41Z'
  const [from] = time.split('..')
  for (const text of ['', 'x', time, `${time},1..2`, `${time},2..1,${time}`, `${time},-1..2,${time}`, `${time},a..b,${time}`, `${time},1..,${time}`, `${from}..${from},1..2,${time}`, `${time},1..2,${time},3`, `${time},1..2..3,${time}`, `${time},1..Infinity,x`]) {
    expect([text, readBox(text)]).toEqual([text, undefined])
  }
})
