import { expect, test } from 'vitest'
import { ordered } from './order'

const rows = [
  { id: 'a', load: 3 },
  { id: 'b' },
  { id: 'c', load: 20 },
  { id: 'd', load: 3 },
]
const ids = (list: { id: string }[]) => list.map((row) => row.id).join('')
const id = (row: { id: string }) => row.id
const load = (row: { load?: number }) => row.load

test('sorts by number, with equal ones by id and unknown ones last', () => {
  expect(ids(ordered(rows, id, load, true))).toBe('cadb')
  expect(ids(ordered(rows, id, load, false))).toBe('adcb')
})

test('sorts names with numbers as people do', () => {
  const names = ['engine-10', 'engine-2'].map((name) => ({ id: name }))
  expect(ordered(names, id, id, false).map(id)).toEqual(['engine-2', 'engine-10'])
})

test('keeps an order, and puts new rows behind it', () => {
  expect(ids(ordered(rows, id, load, true, ['b', 'a']))).toBe('bacd')
})
