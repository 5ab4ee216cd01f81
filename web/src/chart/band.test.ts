import { expect, test } from 'vitest'
import { bandsOf, columnsOf, topOf } from './band'
import type { Measure } from './measure'

const measure: Measure = {
  key: 'cpu', name: 'CPU', write: String, lines: [
    { key: 'cpu', name: 'Busy', colour: 'accent', expression: 'x', usual: { metric: 'se_stats.avg_cpu_usage', factor: 0.01 } },
    { key: 'other', name: 'Other', colour: 'bad', expression: 'y' },
  ],
}
const usual = new Map([['se_stats.avg_cpu_usage', [{ fromS: 0, toS: 300, low: 10, high: 20 }, { fromS: 300, toS: 600, low: 30, high: 90 }]]])

test('a band is in the unit of its chart', () => {
  const [band, ...more] = bandsOf(measure, usual)
  expect(band?.steps.map((step) => [step.low, step.high])).toEqual([[0.1, 0.2], [0.3, 0.9]])
  expect(more).toEqual([])
  expect(bandsOf(measure, undefined)).toEqual([])
})

test('a chart has room for its bands, up to twice its lines, and for nothing out of its range', () => {
  const bands = bandsOf(measure, usual)
  expect(topOf(0.1, bands, 0, 200)).toBeCloseTo(0.22)
  expect(topOf(0.1, bands, 0, 600)).toBeCloseTo(0.22)
  expect(topOf(0.6, bands, 0, 600)).toBeCloseTo(0.99)
  expect(topOf(0, bands, 0, 600)).toBeCloseTo(0.99)
  expect([topOf(0, [], 0, 600), topOf(5, [], 0, 600)]).toEqual([1, 5.5])
})

test('a table has what is usual beside the lines', () => {
  const columns = columnsOf(measure, { times: [100, 400, 700], lines: [[1, 2, 3], [4, 5, 6]] }, bandsOf(measure, usual))
  expect(columns.map((column) => column.name)).toEqual(['Busy', 'Other', 'Busy, usual from', 'Busy, usual to'])
  expect(columns[3]?.values).toEqual([0.2, 0.9, null])
})
