import { expect, test } from 'vitest'
import { gradedOf, type Parts } from './graded'

const parts: Parts = { profiles: new Map([['p', { uuid: 'p', name: 'modern' }]]), certificates: new Map([['c', { uuid: 'c', name: 'shop' }]]), applications: new Map() }

test('what a service refers to is found, or said to be missing', () => {
  const graded = gradedOf({ uuid: 's', services: [{ enable_ssl: true }, {}], ssl_profile_ref: 'https://host/api/sslprofile/p#modern', ssl_key_and_certificate_refs: ['/api/sslkeyandcertificate/c', '/api/sslkeyandcertificate/d'], application_profile_ref: '/api/applicationprofile/a' }, parts)
  expect(graded).toEqual({ uuid: 's', missing: [{ kind: 'sslkeyandcertificate', uuid: 'd' }, { kind: 'applicationprofile', uuid: 'a' }], profile: parts.profiles.get('p'), certificates: [parts.certificates.get('c')], application: undefined, hasPlainPort: true })
  expect(gradedOf({ uuid: 's', services: [{}] }, parts)).toBeUndefined()
})
