import { expect, test } from 'vitest'
import { idOf, withoutServer, withServer, withServers } from './edit'

const pool = { default_server_port: 8080, servers: [{ ip: { addr: '10.0.0.1', type: 'V4' } }, { ip: { addr: '2001:db8::1', type: 'V6' }, port: 443, ratio: 3 }] }

test('names servers as the controller does', () => {
  expect(pool.servers.map((server) => idOf(server, pool))).toEqual(['10.0.0.1:8080', '[2001:db8::1]:443'])
})

test('changes one server and leaves the others as they are', () => {
  expect(withServer(pool, '[2001:db8::1]:443', false)['servers']).toEqual([pool.servers[0], { ...pool.servers[1], enabled: false }])
  expect(withoutServer(pool, '10.0.0.1:8080')['servers']).toEqual([pool.servers[1]])
  expect(withServers(pool, [{ addr: '10.0.0.9', type: 'V4', port: undefined }])['servers']).toHaveLength(3)
})

test('a server that is gone is an error, not another server', () => {
  expect(() => withServer(pool, '10.0.0.1:80', false)).toThrow(/10.0.0.1:80/)
  expect(() => withoutServer(pool, '10.0.0.2:8080')).toThrow()
})
