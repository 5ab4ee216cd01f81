import { expect, test } from 'vitest'
import { age, bytes, count, ms, msRow, percent, whole } from './format'

test('writes numbers with three digits and a unit', () => {
  expect([0, 3.24, 0.01, 410, 999.9, 8100, 1234567, null].map(count)).toEqual(['0', '3.2', '0.01', '410', '1.0k', '8.1k', '1.2M', '–'])
  expect([0.005, 0.25, 0.6333, 0.75, 0.0953].map(count)).toEqual(['0.005', '0.25', '0.63', '0.75', '0.095'])
  expect([0, 512, 1200, 4_700_000].map(bytes)).toEqual(['0 B', '512 B', '1.2 kB', '4.7 MB'])
})

test('writes times beside each other in one unit', () => {
  expect([[5.29, 84.6, 220.4], [12, 800, 1204], [1, 2, undefined], [undefined, 2, 3]].map(msRow)).toEqual(['5.3 · 84.6 · 220 ms', '0.01 · 0.8 · 1.2 s', '–', '– · 2.0 · 3.0 ms'])
})

test('writes whole numbers exactly, in groups', () => {
  expect([0, 412, 1960, 1234567, undefined].map(whole)).toEqual(['0', '412', '1\u202f960', '1\u202f234\u202f567', '–'])
})

test('writes times in milliseconds and seconds', () => {
  expect([0, 0.0042, 0.306, 9.999, 38.04, 250.4, 2100, 12000, undefined].map(ms)).toEqual(['0 ms', '0.004 ms', '0.31 ms', '10.0 ms', '38.0 ms', '250 ms', '2.1 s', '12 s', '–'])
})

test('does not write a small share as nothing, nor a large one as all', () => {
  expect([0, 0.00001, 0.002, 0.031, 0.99999, 1].map(percent)).toEqual(['0 %', '<0.01 %', '0.20 %', '3.1 %', '>99.9 %', '100 %'])
})

test('writes how long ago as the command line does', () => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  expect(['2026-11-21T11:59:18Z', '2026-11-21T08:48:00Z', '2026-11-17T12:00:00Z', undefined].map((at) => age(at, now))).toEqual([
    '42s', '3h12m', '4d', '–',
  ])
})
