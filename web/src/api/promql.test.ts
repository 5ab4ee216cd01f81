import { expect, test } from 'vitest'
import { frameOf, type Matrix, queryOf, selector, windowsFor } from './promql'

test('a window is at least a step, and two samples of the tier that is read', () => {
  expect(windowsFor(5, 1800)).toEqual({ windowS: 20, histogramS: 180 })
  expect(windowsFor(3600, 86_400)).toEqual({ windowS: 3600, histogramS: 3600 })
  expect(windowsFor(15, 8 * 86_400).windowS).toBe(900)
  expect(windowsFor(3600, 100 * 86_400).windowS).toBe(10_800)
})

test('several lines are one query', () => {
  expect(queryOf([{ key: 'a', expression: 'rate(x[$w])' }, { key: 'b', expression: 'f(y[$h])' }], 15, 60)).toBe(
    'label_replace(rate(x[20s]), "line", "a", "", "") or label_replace(f(y[180s]), "line", "b", "", "")',
  )
})

test('a value of a label stays a value', () => {
  expect(selector({ uuid: 'pool-1', server: 'a"} or up{x="\\' })).toBe('{uuid="pool-1",server="a\\"} or up{x=\\"\\\\"}')
})

test('gaps stay gaps, and what is no number is one', () => {
  const answer: Matrix = { data: { result: [{ metric: { line: 'a' }, values: [[100, '1'], [130, 'NaN'], [145, '4.5']] }] } }
  expect(frameOf(answer, ['a', 'b'], 100, 145, 15)).toEqual({ times: [100, 115, 130, 145], lines: [[1, null, null, 4.5], [null, null, null, null]] })
  expect(frameOf({ data: { result: null } }, ['a'], 0, 15, 15).lines).toEqual([[null, null]])
})
