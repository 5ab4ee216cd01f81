// A server that needs far longer for its answers than the others of its pool, in words.
import { clock, ms } from '../time/format'

export interface Slowness {
  app_response_mean_ms: number
  others_mean_ms: number
}

/** "needs 402 ms for an answer, the others 2.1 ms, since 12:04:31" */
export function slowText(of: Slowness, since: number | string): string {
  return `needs ${ms(of.app_response_mean_ms)} for an answer, the others ${ms(of.others_mean_ms)}, since ${clock(since)}`
}
