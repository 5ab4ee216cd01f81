import { expect, test } from 'vitest'
import { empty, inputOf, poolOf, problemsOf, serviceOf, shown, usualMonitor, willCreate } from './draft'
import { parseServers } from '../form/servers'

const servers = parseServers('10.0.0.7:8080 10.0.0.8:8080')
const shop = { ...empty, name: 'shop', address: '10.1.0.9', servers: '…' }

test('makes an HTTPS service with address, pool and certificate', () => {
  expect(serviceOf(shop, servers.servers, undefined)).toMatchObject({
    name: 'shop',
    services: [{ port: 443, enable_ssl: true, enable_http2: true }],
    vsvip_ref_data: { vip: [{ ip_address: { addr: '10.1.0.9', type: 'V4' } }] },
    pool_ref_data: { name: 'shop-pool', servers: [{ ip: { addr: '10.0.0.7', type: 'V4' }, port: 8080 }, {}], health_monitor_refs: ['/api/healthmonitor?name=System-HTTP'] },
    ssl_key_and_certificate_refs_data: [{ certificate: { self_signed: true, subject: { common_name: 'shop' } } }],
  })
})

test('shares an address and a pool that are there', () => {
  const made = serviceOf({ ...shop, protocol: 'tcp', port: '5432', pool: 'pool-1' }, [], { uuid: 'vsvip-1', name: 'v', address: '10.1.0.9' })
  expect(made).toMatchObject({ vsvip_ref: '/api/vsvip/vsvip-1', pool_ref: '/api/pool/pool-1', services: [{ port: 5432 }] })
  expect(Object.keys(made).filter((name) => name.endsWith('_data'))).toEqual([])
})

test('UDP has a profile of its own and no monitor', () => {
  const made = serviceOf({ ...shop, protocol: 'udp', port: '53' }, parseServers('10.0.0.1').servers, undefined)
  expect(made).toMatchObject({ network_profile_ref: '/api/networkprofile?name=System-UDP-Fast-Path', pool_ref_data: { default_server_port: 53 } })
  expect(usualMonitor('udp')).toBe('')
  expect(poolOf({ ...shop, protocol: 'udp' }, 'p', [])).not.toHaveProperty('health_monitor_refs')
})

test('says what is missing', () => {
  expect(Object.keys(problemsOf(empty, parseServers('')))).toEqual(['name', 'address', 'servers'])
  expect(problemsOf({ ...shop, protocol: 'tcp' }, servers)).toEqual({ port: 'Give a port, 1 to 65535.' })
  expect(problemsOf({ ...shop, certificate: 'paste' }, servers)).toHaveProperty('certificate')
  expect(problemsOf(shop, servers)).toEqual({})
})

test('never shows a private key', () => {
  const made = serviceOf({ ...shop, certificate: 'paste', pem: 'BEGIN CERTIFICATE', key: 'PRIVATE KEY 123' }, servers.servers, undefined)
  expect(JSON.stringify(shown(made))).not.toContain('PRIVATE')
  expect(JSON.stringify(made)).toContain('PRIVATE')
})

test('says what will be there, and finds the input of a refusal', () => {
  expect(willCreate(shop, servers.servers, undefined)).toEqual([
    'address 10.1.0.9 (VsVip shop-address)', 'self-signed certificate shop-certificate, for 365 days', 'pool shop-pool with 2 servers', 'virtual service shop: HTTPS on port 443',
  ])
  expect([inputOf('vsvip', 'vip[0]'), inputOf('pool', 'servers[0].port'), inputOf('virtualservice', 'services[0].port'), inputOf('virtualservice', 'x')]).toEqual(['address', 'servers', 'port', undefined])
})
