import { expect, test } from 'vitest'
import { choices, labelOf, titleOf } from './words'

test('names kinds and fields as people do', () => {
  expect(['VirtualService', 'SSLProfile', 'VsVip', 'HealthMonitor'].map((title) => titleOf({ title }))).toEqual(['Virtual service', 'SSL profile', 'Address (VsVip)', 'Health monitor'])
  expect(['health_monitor_refs', 'vsvip_ref', 'enable_http2', 'ssl_profile_ref', 'ip'].map(labelOf)).toEqual(['Health monitors', 'Address (VsVip)', 'Enable http2', 'SSL profile', 'IP'])
})

test('shortens the values of an enum to what differs', () => {
  expect(choices(['LB_ALGORITHM_ROUND_ROBIN', 'LB_ALGORITHM_RANDOM']).map((one) => one.text)).toEqual(['round robin', 'random'])
  expect(choices(['HTTP', 'HTTPS']).map((one) => one.text)).toEqual(['http', 'https'])
  expect(choices(['ONLY_ONE']).map((one) => one.text)).toEqual(['only one'])
})
