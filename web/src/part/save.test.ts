import { expect, test } from 'vitest'
import { csv, fileName } from './save'

test('no cell is a formula', () => {
  const rows = ["=cmd|' /C calc'!A0", '+1', '-2', '@x', '\tx', '\rx', '＝1', 'plain', -5, null]
  expect(csv(['a,b'], rows.map((row) => [row])).split('\r\n').slice(0, -1)).toEqual([
    '"a,b"', "'=cmd|' /C calc'!A0", "'+1", "'-2", "'@x", "'\tx", '"\'\rx"', "'＝1", 'plain', '-5', '',
  ])
})

test('quotes are doubled, and lines stay in their cell', () => {
  expect(csv(['x'], [['say "no"\nor not']])).toBe('x\r\n"say ""no""\nor not"\r\n')
})

test('the name of a file has no separators', () => {
  expect(fileName('../evil <b> shop', 'csv', 0)).toBe('..-evil -b- shop 1970-01-01T00-00-00Z.csv')
})
