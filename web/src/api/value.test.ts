import { expect, test } from 'vitest'
import { changesSecret, differences, hasSecret, mergeOver, same, shortly } from './value'

test('finds what differs, at any depth, and leaves out what every write changes', () => {
  const before = { name: 'web', _last_modified: '1', servers: [{ ip: { addr: 'a' }, port: 1 }, { ip: { addr: 'b' } }], tags: ['x'] }
  const after = { name: 'web', _last_modified: '2', servers: [{ ip: { addr: 'a' }, port: 2 }], tags: ['x', 'y'], more: true }
  expect(differences(before, after).map(({ path, before, after }) => [path, shortly(before), shortly(after)])).toEqual([
    ['servers[0].port', '1', '2'],
    ['servers[1]', 'ip.addr: b', '–'],
    ['tags', '["x"]', '["x","y"]'],
    ['more', '–', 'true'],
  ])
})

test('lists all fields of what is new or gone', () => {
  expect(differences(undefined, { name: 'a', url: 'x' })).toEqual([{ path: 'name', before: undefined, after: 'a' }])
  expect(differences({ name: 'a' }, undefined)).toEqual([{ path: 'name', before: 'a', after: undefined }])
})

test('lists at most what is asked for', () => {
  expect(differences({}, Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, at])), 10)).toHaveLength(10)
})

test('puts my changes over theirs, and keeps what only they changed', () => {
  const base = { a: 1, b: 1, c: 1, _last_modified: '1' }
  expect(mergeOver(base, { a: 2, b: 1, _last_modified: '1' }, { a: 1, b: 5, c: 1, d: 4, _last_modified: '9' })).toEqual({ a: 2, b: 5, d: 4, _last_modified: '9' })
})

test('knows a secret that cannot come back', () => {
  expect(hasSecret({ auth: [{ password: '<sensitive>' }] })).toBe(true)
  expect(changesSecret({ key: '<sensitive>', name: 'a' }, { key: '<sensitive>', name: 'b' })).toBe(false)
  expect(changesSecret({ key: '<sensitive>' }, { key: 'new' })).toBe(true)
  expect(changesSecret({ name: 'a' }, { name: 'b' })).toBe(false)
})

test('compares values, not their order of fields', () => {
  expect(same({ a: [1, { b: 2 }], c: undefined }, { c: undefined, a: [1, { b: 2 }] })).toBe(true)
  expect(same({ a: 1 }, { a: 1, b: null })).toBe(false)
})
