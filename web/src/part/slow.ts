// A server that needs far longer for its answers than the others of its pool, in words.
import type { HealthScore } from '../api/types'
import { clock, ms } from '../time/format'

export interface Slowness {
  app_response_mean_ms: number
  others_mean_ms: number
}

/** "needs 402 ms (mean) for an answer, the others 2.1 ms, since 12:04:31" */
export function slowText(of: Slowness, since: number | string): string {
  return `needs ${ms(of.app_response_mean_ms)} (mean) for an answer, the others ${ms(of.others_mean_ms)}, since ${clock(since)}`
}

/** Why a health score is good although a server is slow; empty: it is not good. */
export function goodAllTheSame(of: HealthScore | undefined): string {
  if (of?.weir_band !== 'good') return ''
  return `Health is ${of.health_score} good all the same: a server is slow beside the others of its pool, with five times their time and 50 ms more. The score counts errors, and answers above the thresholds of the analytics profile.`
}
