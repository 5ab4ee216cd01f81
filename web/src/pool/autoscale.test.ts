import { expect, test } from 'vitest'
import { scalingOf } from './autoscale'

const now = Date.parse('2026-11-29T12:05:00Z')
const pool = { policy_ref: '/api/serverautoscalepolicy/p', reason: 'no alert of its rules fires', size: 3, min_size: 2, max_size: 8 }

test('says why a pool does not scale', () => {
  expect(scalingOf(pool, now)).toEqual(['3 servers enabled, of 2 to 8. No alert of its rules fires.'])
})

test('says how far the last orders are', () => {
  const scaleout = { phase: 'FAILED', since: '2026-11-29T12:03:00Z', num_servers: 1, result: '0 came within 5m0s' }
  const scalein = { phase: 'DRAINING', since: '2026-11-29T12:04:30Z', num_servers: 1, servers: ['10.0.0.3:80'] }
  expect(scalingOf({ ...pool, scaleout, scalein }, now).slice(1)).toEqual([
    'Last order for more: 1 server, failed: 0 came within 5m0s (2m ago).',
    'Last order for fewer: 10.0.0.3:80, disabled until they have finished what they have (30s ago).',
  ])
  expect(scalingOf({ ...pool, scalein: { ...scalein, phase: 'DONE', servers: [] } }, now)[1]).toBe('Last order for fewer: 1 server, done (30s ago).')
})
