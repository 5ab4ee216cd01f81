import type { Live } from './live'

/** No figures. */
export const nothing: Omit<Live, 'mode'> = { lines: new Map(), servers: new Map(), engines: new Map() }

/** What pages may show: without a stream, its figures are older than what they read themselves. */
export function current(live: Live): Live {
  return live.mode === 'stream' ? live : { mode: live.mode, ...nothing }
}
