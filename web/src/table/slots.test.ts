import { expect, test } from 'vitest'
import { around, placed, slotOf, slotsFor } from './slots'

const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => ({ index: from + at }))
const slotsIn = (list: { index: number }[], slots: number) => list.map((row) => slotOf(row, slots))

test('there are as many rows as elements, wherever the page is', () => {
  const slots = slotsFor(45)
  expect(slots).toBe(48)
  for (const [startIndex, endIndex] of [[0, 25], [1, 27], [700, 726], [4974, 4999]] as const) {
    const found = around({ startIndex, endIndex, count: 5000 }, slots)
    expect([found.length, new Set(found.map((index) => index % slots)).size]).toEqual([slots, slots])
    expect([found.includes(startIndex), found.includes(endIndex)]).toEqual([true, true])
  }
  expect(around({ startIndex: 700, endIndex: 725, count: 5000 }, 48)[0]).toBe(689)
})

test('a short table has its rows, and a high page all that are in sight', () => {
  expect(around({ startIndex: 0, endIndex: 2, count: 3 }, 48)).toEqual([0, 1, 2])
  expect(around({ startIndex: 10, endIndex: 99, count: 5000 }, 48)).toHaveLength(90)
})

test('elements that stay in use stay where they are', () => {
  const slots = 48
  const before = slotsIn(rows(4, 52), slots)
  const after = slotsIn(placed(rows(13, 61), slots, before), slots)
  expect(after).toEqual(before)
})

test('elements that are new come last', () => {
  expect(placed(rows(0, 4), 8, [2, 0]).map((row) => row.index)).toEqual([2, 0, 1, 3])
})
