import { expect, test } from 'vitest'
import { before, type Entry, whyNot, writtenSince } from './undo'

const entry = (more: Partial<Entry>): Entry => ({ time: 't', user: 'ann', address: '', tenant: '', action: 'change', kind: 'pool', object: 'pool-1', ...more })

test('undoes a change of some fields, and keeps what others changed beside it', () => {
  const changed = entry({ old: { ratio: 1, hash: 'A' }, new: { ratio: 5, added: true } })
  const current = { name: 'web', ratio: 5, added: true, description: 'by somebody else', _last_modified: '9' }
  expect(whyNot(changed)).toBe('')
  expect(writtenSince(changed, current)).toEqual([])
  expect(before(changed, current)).toEqual({ name: 'web', ratio: 1, hash: 'A', description: 'by somebody else', _last_modified: '9' })
})

test('is refused if somebody wrote these fields since', () => {
  const changed = entry({ old: { ratio: 1 }, new: { ratio: 5 } })
  expect(writtenSince(changed, { ratio: 7 })).toEqual(['ratio'])
  expect(writtenSince(entry({ old: { hash: 'A' }, new: {} }), { hash: 'B' })).toEqual(['hash'])
})

test('compares references without host and name', () => {
  const changed = entry({ old: { refs: [] }, new: { refs: ['/api/healthmonitor/hm-1'] } })
  expect(writtenSince(changed, { refs: ['https://lb:9443/api/healthmonitor/hm-1#System-HTTP'] })).toEqual([])
  expect(writtenSince(changed, { refs: ['https://lb:9443/api/healthmonitor/hm-2#System-HTTP'] })).toEqual(['refs'])
})

test('says why it cannot be undone', () => {
  expect(whyNot(entry({ refused: 'no' }))).toMatch(/refused/)
  expect(whyNot(entry({ action: 'login', kind: 'session' }))).toMatch(/no object/)
  expect(whyNot(entry({ old: { password: '<sensitive>' }, new: { password: '<sensitive>' } }))).toMatch(/secret/)
  expect(whyNot(entry({ old: '{"cut', new: {} }))).toMatch(/too long/)
  expect(whyNot(entry({ action: 'create', object: 'web', new: { uuid: 'pool-1' } }))).toBe('')
  expect(whyNot(entry({ action: 'delete' }))).toMatch(/what was deleted/)
  expect(whyNot(entry({ action: 'delete', old: { name: 'web' } }))).toBe('')
})
