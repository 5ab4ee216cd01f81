import { expect, test } from 'vitest'
import { summaryOf } from './measure'

test('a summary leaves gaps out', () => {
  expect(summaryOf([1, null, 5, 3, null])).toEqual({ mean: 3, most: 5, last: 3 })
  expect(summaryOf([null])).toEqual({ mean: null, most: null, last: null })
})
