import { expect, test } from 'vitest'
import { sideBySide } from './stages'

const stages = (...names: string[]) => names.map((name) => ({ name, text: `the ${name}` }))

test('what would happen now stands beside the same stage of what happened', () => {
  const rows = sideBySide(stages('client', 'engine', 'tls', 'pool', 'server', 'times'), stages('client', 'engine', 'pool', 'servers', 'server', 'connection'))
  expect(rows.map((row) => row.name)).toEqual(['client', 'engine', 'tls', 'pool', 'servers', 'server', 'connection', 'times'])
  expect(rows[2]).toEqual({ name: 'tls', then: 'the tls', now: '' })
  expect(rows[4]).toEqual({ name: 'servers', then: '', now: 'the servers' })
  expect(rows[5]).toEqual({ name: 'server', then: 'the server', now: 'the server' })
})

test('either can be missing', () => {
  expect(sideBySide([], stages('engine', 'pool'))).toEqual([{ name: 'engine', then: '', now: 'the engine' }, { name: 'pool', then: '', now: 'the pool' }])
  expect(sideBySide(stages('why'), [])).toEqual([{ name: 'why', then: 'the why', now: '' }])
})
