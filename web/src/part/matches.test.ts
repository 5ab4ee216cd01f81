import { expect, test } from 'vitest'
import { lookOf } from './state'
import { matches } from './matches'

test('a filter wants every word, in any text and case', () => {
  const row = ['Checkout', '10.0.0.7:443', undefined]
  expect(['', 'check', '443 CHECK', 'check 80'].map((filter) => matches(filter, row))).toEqual([true, true, true, false])
})

test('what is up with reasons needs attention, and its word stays', () => {
  expect(lookOf('OPER_UP', [])).toEqual({ look: 'good', word: 'UP' })
  expect(lookOf('OPER_UP', ['2 of 3 servers are down'])).toEqual({ look: 'attention', word: 'UP' })
  expect(lookOf('OPER_RESOURCES', ['no engine'])).toEqual({ look: 'bad', word: 'RESOURCES' })
  expect(lookOf('', [])).toEqual({ look: 'waiting', word: 'UNKNOWN' })
})
