import { expect, test } from 'vitest'
import { canKeep, saysKeeping } from './keeping'

test('records are kept for half an hour only where that is no less than what is set', () => {
  expect([undefined, { enabled: false, duration: 0 }, { enabled: true }, { enabled: true, duration: 5 }, { enabled: true, duration: 30 }].map(canKeep)).toEqual([true, true, true, true, true])
  expect([{ enabled: true, duration: 0 }, { enabled: true, duration: 31 }].map(canKeep)).toEqual([false, false])
})

test('the throttle that is set is said', () => {
  expect(saysKeeping(undefined)).toBe('They can keep all for 30 minutes; above 10 a second of an engine, one record stands for several.')
  expect(saysKeeping({ enabled: true, duration: 0, throttle: 0 })).toBe('This service has them keep all; without a limit.')
  expect(saysKeeping({ enabled: true, duration: 90, throttle: 50 })).toMatch(/for 90 minutes from when it was last written; above 50 a second/)
})
