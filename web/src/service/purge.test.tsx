import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { PurgeChoice } from './PurgeChoice'
import { everything, hasCache, hasOwnProfiles, purgedText, purgeOf } from './purge'

const some = { isAll: false, text: ' https://shop.example.com/prices?all\n/img/  /img/\n', isPrefix: false }

test('asks for all, or for the URIs of a list', () => {
  expect(purgeOf(everything)).toEqual({})
  expect(purgeOf({ ...some, isAll: true })).toEqual({})
  expect(purgeOf(some)).toEqual({ uris: ['shop.example.com/prices?all', '/img/'] })
  expect(purgeOf({ ...some, isPrefix: true })).toEqual({ uris: ['shop.example.com/prices?all', '/img/'], prefix: true })
})

test('never purges all because no URI is given', () => {
  expect(() => purgeOf({ ...some, text: ' \n' })).toThrow(/at least one URI/)
  expect(() => purgeOf({ ...some, text: Array.from({ length: 33 }, (_, i) => `/${i}`).join('\n') })).toThrow(/33 URIs/)
})

test('a service has a cache if its profile has settings of one, also while it is off', () => {
  expect(hasCache(undefined)).toBe(false)
  expect(hasCache({ type: 'APPLICATION_PROFILE_TYPE_L4' })).toBe(false)
  expect(hasCache({ http_profile: { cache_config: { enabled: false } } })).toBe(true)
  expect(hasCache({ http_profile: {} })).toBe(false)
  expect(hasCache({ http_profile: { cache_config: { enabled: true } } })).toBe(true)
})

test('a service may have a cache if a port has an application profile of its own', () => {
  const service = { uuid: 'vs-1', name: 'shop' }
  expect(hasOwnProfiles(service)).toBe(false)
  expect(hasOwnProfiles({ ...service, services: [{ port: 22 }] })).toBe(false)
  expect(hasOwnProfiles({ ...service, services: [{ port: 22 }, { port: 80, override_application_profile_ref: '/api/applicationprofile/p' }] })).toBe(true)
})

test('says what was purged, also if that was more than was asked', () => {
  expect(purgedText('shop', {}, true)).toBe('service shop: all stored responses purged')
  expect(purgedText('shop', { uris: ['/a'] }, false)).toBe('service shop: /a purged')
  expect(purgedText('shop', { uris: ['/a', '/b'] }, false)).toBe('service shop: 2 URIs purged')
  expect(purgedText('shop', { uris: ['/a/'], prefix: true }, false)).toBe('service shop: all paths that begin with /a/ purged')
  expect(purgedText('shop', { uris: ['/a/', '/b/'], prefix: true }, false)).toBe('service shop: all paths that begin with those of 2 URIs purged')
  expect(purgedText('shop', { uris: ['/a'] }, true)).toBe('service shop: all stored responses purged')
})

test('the dialog asks for URIs only where not all is purged', () => {
  const shown = (of: typeof some) => renderToStaticMarkup(<PurgeChoice of={of} onChange={() => undefined} />)
  expect(shown(everything)).not.toContain('<textarea')
  expect(shown(some)).toContain('<textarea')
  expect(shown(some)).toContain('2 URIs')
})
