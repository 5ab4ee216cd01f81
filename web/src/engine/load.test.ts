import { expect, test } from 'vitest'
import type { EngineRuntime } from '../api/types'
import { busy, edgesOf, sharesOf } from './load'

const runtime = (more: object) => ({ dataplane: { state: 'running', restarts: 0, reason: '', cpu_percent: 150, workers: 2 }, ...more }) as unknown as EngineRuntime

test('an engine is all busy when all of its workers are', () => {
  expect(busy(runtime({}))).toBe(0.75)
  expect(busy(undefined)).toBeUndefined()
})

test('shares are those of the requests, and nobody has one without traffic', () => {
  const engines = [30, 10, 0].map((requests, at) => ({ uuid: `e${at}`, runtime: runtime({ counters: { per_second: { requests } } }) }))
  expect([...(sharesOf(engines) ?? [])]).toEqual([['e0', 0.75], ['e1', 0.25], ['e2', 0]])
  expect(sharesOf(engines.slice(2))).toBeUndefined()
})

test('an edge is all sessions with a router', () => {
  const both = ['10.0.0.1', 'fd00::1'].map((peer_ip) => ({ peer_ip, peer_state: peer_ip === 'fd00::1' ? 'Established' : 'Active', router_id: '10.9.9.9' }))
  expect(edgesOf([{ uuid: 'e', runtime: runtime({ bgp: { peers: both } }) }])).toEqual([{ router: '10.9.9.9', engine: 'e', isUp: true }])
  const peers = [{ peer_ip: '10.0.0.1', peer_state: 'Established' }, { peer_ip: '10.0.0.2', peer_state: 'Active' }]
  expect(edgesOf([{ uuid: 'e', runtime: runtime({ bgp: { peers } }) }])).toEqual([
    { router: '10.0.0.1', engine: 'e', isUp: true },
    { router: '10.0.0.2', engine: 'e', isUp: false },
  ])
})
