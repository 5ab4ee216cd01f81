import { expect, test } from 'vitest'
import { enginesOf, questionOf } from './question'

const entry = {
  report_timestamp: '2026-11-26T19:00:00.123Z', method: 'POST', host: 'shop.example:8443', uri_path: '/pay', uri_query: 'id=7', client_ip: '10.0.0.1', client_src_port: 5000,
  vs_ip: '10.1.0.10', client_dest_port: 8443, ssl_version: 'TLSv1.3', sni_hostname: 'shop.example', service_engine_uuid: 'se-2',
}

test('the request of a record is asked about as the client sent it', () => {
  expect(questionOf(entry)).toEqual({ url: 'https://shop.example:8443/pay?id=7', method: 'POST', address: '10.1.0.10', header: ['Host: shop.example:8443'], client: '10.0.0.1:5000' })
})

test('without a server name, the URL has the address', () => {
  expect(questionOf({ ...entry, ssl_version: '', uri_query: '' })?.url).toBe('http://10.1.0.10:8443/pay')
  const plain = questionOf({ ...entry, sni_hostname: '', vs_ip: 'fd00::1', client_ip: 'fd00::9' })
  expect([plain?.url, plain?.address, plain?.client]).toEqual(['https://[fd00::1]:8443/pay?id=7', 'fd00::1', '[fd00::9]:5000'])
})

test('a target that is no part of a URL is escaped', () => {
  expect(questionOf({ ...entry, uri_path: '/100%/%41#x', uri_query: '<script>=%zz' })?.url).toBe('https://shop.example:8443/100%25/%41%23x?<script>=%25zz')
  expect(questionOf({ ...entry, sni_hostname: 'a b/<c>' })?.url).toBe('https://10.1.0.10:8443/pay?id=7')
})

test('nothing is asked about what was no request, or has no path', () => {
  for (const missing of ['method', 'uri_path', 'vs_ip', 'client_dest_port']) expect([missing, questionOf({ ...entry, [missing]: '' })]).toEqual([missing, undefined])
  expect(questionOf({ ...entry, uri_path: '*' })).toBeUndefined()
})

test('the engine of the record is the first', () => {
  const engines = ['se-1', 'se-2', 'se-3'].map((uuid) => ({ uuid, name: uuid }))
  expect(enginesOf({ virtualservice: { uuid: '', name: '' }, engines }, entry).map((one) => one.uuid)).toEqual(['se-2', 'se-1', 'se-3'])
})
