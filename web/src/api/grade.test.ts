import { expect, test } from 'vitest'
import { type Graded, gradeOf } from './grade'

const now = Date.parse('2026-11-26T00:00:00Z')
const chain = '-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----'
const best: Graded = {
  uuid: 's',
  missing: [],
  profile: { uuid: 'p', name: 'modern', accepted_versions: [{ type: 'SSL_VERSION_TLS1_2' }, { type: 'SSL_VERSION_TLS1_3' }] },
  certificates: [{ uuid: 'c', name: 'shop', certificate: { certificate: chain, not_after: '2027-11-26 00:00:00', self_signed: false, signature_algorithm: 'ecdsa-with-SHA256' }, key_params: { algorithm: 'SSL_KEY_ALGORITHM_EC' } }],
  application: { uuid: 'a', name: 'web', type: 'APPLICATION_PROFILE_TYPE_HTTP', http_profile: { hsts_enabled: true, http_to_https: true } },
  hasPlainPort: true,
}
const certificate = (change: object, more: object = {}) => ({ ...best, certificates: [{ ...best.certificates[0]!, ...more, certificate: { ...best.certificates[0]!.certificate, ...change } }] })
const graded = (of: Graded) => {
  const { letter, reasons } = gradeOf(of, now)
  return `${letter} ${reasons.map((one) => one.text).join('; ')}`.trim()
}

test('nothing to say is the best grade', () => {
  expect(graded(best)).toBe('A+')
  expect(graded({ ...best, application: { ...best.application!, type: 'APPLICATION_PROFILE_TYPE_L4', http_profile: {} } })).toBe('A+')
})

test('each weakness has its letter, and the worst decides', () => {
  expect(graded(certificate({ not_after: '2026-11-25 00:00:00' }))).toMatch(/^F .*has expired/)
  expect(graded(certificate({ not_after: '2026-11-30 00:00:00' }))).toMatch(/^C .*ends in 4 days/)
  expect(graded(certificate({ not_after: '2026-12-20 00:00:00' }))).toMatch(/^B .*ends in 24 days/)
  expect(graded(certificate({ self_signed: true }))).toMatch(/^C .*self-signed/)
  expect(graded(certificate({ certificate: '-----BEGIN CERTIFICATE-----' }))).toMatch(/^B .*issuers/)
  expect(graded(certificate({ signature_algorithm: 'sha1WithRSAEncryption' }))).toMatch(/^D .*SHA-1/)
  expect(graded(certificate({ signature_algorithm: 'md5WithRSAEncryption' }))).toMatch(/^F .*MD5/)
  expect(graded(certificate({}, { key_params: { rsa_params: { key_size: 'SSL_KEY_1024_BITS' } } }))).toMatch(/^D .*1024 bits/)
  expect(graded(certificate({}, { key_params: { rsa_params: { key_size: 'SSL_KEY_2048_BITS' } } }))).toBe('A+')
  expect(graded({ ...best, profile: { ...best.profile!, accepted_versions: [{ type: 'SSL_VERSION_TLS1_2' }] } })).toMatch(/^B .*TLS 1.3/)
  expect(graded({ ...best, application: { ...best.application!, http_profile: {} } })).toMatch(/^B .*not redirect it; .*HSTS/)
  expect(graded({ ...best, hasPlainPort: false, application: { ...best.application!, http_profile: {} } })).toMatch(/^A .*HSTS/)
})

test('without one of its parts, a service has no grade', () => {
  expect(graded({ ...best, certificates: [] })).toBe('unknown the virtual service has no certificate')
  expect(graded({ ...best, profile: undefined, missing: [{ kind: 'sslprofile', uuid: 'p' }] })).toBe('unknown the TLS profile cannot be read')
  expect(graded({ ...best, certificates: [], missing: [{ kind: 'sslkeyandcertificate', uuid: 'c' }] })).toBe('unknown a certificate cannot be read')
  expect(graded({ ...best, application: undefined, missing: [{ kind: 'applicationprofile', uuid: 'a' }] })).toBe('unknown the application profile cannot be read')
})

test('times of certificates are in words', () => {
  expect(graded(certificate({ not_before: '2026-11-27 00:00:00' }))).toMatch(/^F .*is not valid yet/)
  expect(graded(certificate({ not_after: '2026-11-27 12:00:00' }))).toMatch(/^C .*ends in 1 day$/)
  expect(graded(certificate({ not_after: '2026-11-26 12:00:00' }))).toMatch(/^C .*ends within a day$/)
})
