import { expect, test } from 'vitest'
import { levelOf, mayAudit, mayRead, readableTopics, sumOf, withLevel } from './roles'

const some = [
  { resource: 'PERMISSION_POOL', type: 'WRITE_ACCESS' },
  { resource: 'PERMISSION_ALERT', type: 'READ_ACCESS' },
  { resource: 'PERMISSION_CLOUD', type: 'NO_ACCESS' },
]

test('what is not listed is not allowed', () => {
  expect(['POOL', 'ALERT', 'CLOUD', 'USER'].map((name) => levelOf(some, `PERMISSION_${name}`))).toEqual(['WRITE_ACCESS', 'READ_ACCESS', 'NO_ACCESS', 'NO_ACCESS'])
  expect(levelOf([{ resource: 'A', type: 'SOUP' }], 'A')).toBe('NO_ACCESS')
})

test('a level changes in its place, and a new one comes last', () => {
  expect(withLevel(some, 'PERMISSION_ALERT', 'NO_ACCESS').map((one) => one.type)).toEqual(['WRITE_ACCESS', 'NO_ACCESS', 'NO_ACCESS'])
  expect(withLevel(some, 'PERMISSION_USER', 'READ_ACCESS').at(-1)).toEqual({ resource: 'PERMISSION_USER', type: 'READ_ACCESS' })
})

test('the audit trail is about all tenants', () => {
  const user = { username: 'otto', is_superuser: false, weir_privileges: [{ resource: 'PERMISSION_SYSTEMREPORT', type: 'READ_ACCESS' }] }
  expect(mayRead(user, 'PERMISSION_SYSTEMREPORT')).toBe(true)
  expect(mayAudit(user)).toBe(false)
  expect(mayAudit({ ...user, access: [{ all_tenants: true }] })).toBe(true)
  expect(mayAudit({ username: 'admin', is_superuser: true })).toBe(true)
  expect(mayAudit(undefined)).toBe(false)
})

test('a role in short', () => {
  expect(sumOf(some)).toBe('writes 1, reads 1')
})

test('a stream has the topics that the user may read', () => {
  const kinds = [{ name: 'virtualservice', may_read: true }, { name: 'serviceengine', may_read: false }, { name: 'pool', may_read: false }]
  expect(readableTopics('overview,engines,vs:vs-1,pool:pool-1', kinds)).toBe('overview,vs:vs-1')
  expect(readableTopics('engines', kinds)).toBe('')
})
