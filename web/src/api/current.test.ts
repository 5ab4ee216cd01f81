import { expect, test } from 'vitest'
import { current } from './current'
import type { Live } from './live'

test('figures of a stream are shown as long as it runs', () => {
  const live: Live = { mode: 'stream', lines: new Map([['s', { uuid: 's', state: 'OPER_UP', point: null, recent_requests_per_s: [] }]]), servers: new Map(), engines: new Map() }
  expect(current(live).lines.size).toBe(1)
  expect(current({ ...live, mode: 'lost' })).toEqual({ mode: 'lost', lines: new Map(), servers: new Map(), engines: new Map() })
})
