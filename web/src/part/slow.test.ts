import { expect, test } from 'vitest'
import { goodAllTheSame, slowText } from './slow'

test('says of a time that it is a mean', () => {
  expect(slowText({ app_response_mean_ms: 402, others_mean_ms: 2.1 }, Date.now())).toMatch(/^needs 402 ms \(mean\) for an answer, the others 2\.10 ms, since \d/)
})

test('says why a score is good beside a slow server, and nothing beside a bad one', () => {
  expect(goodAllTheSame({ health_score: 100, weir_band: 'good' })).toMatch(/^Health is 100 good all the same: .*five times.*thresholds/)
  expect(goodAllTheSame({ health_score: 70, weir_band: 'fair' })).toBe('')
  expect(goodAllTheSame(undefined)).toBe('')
})
