import { expect, test } from 'vitest'
import { headline, partsOf } from './sentence'

const entry = {
  report_timestamp: '2026-11-26T19:00:00.123Z', method: 'GET', host: 'shop.example', uri_path: '/pay', uri_query: 'id=7', http_version: '1.1', user_agent: 'curl/8',
  client_ip: '10.0.0.1', client_src_port: 5000, vs_ip: '10.1.0.10', client_dest_port: 443, ssl_version: 'TLSv1.3', ssl_cipher: 'AES', ssl_session_reused: true,
  client_rtt: 0, client_rtt_us: 250, client_rtt_age_ms: 3000, service_engine: 'engine-1', vcpu_id: 1, vs_name: 'shop', wait_us: 300, connect_us: 100,
  pool_name: 'pool-a', server_ip: 'fd00::7', server_dest_port: 80, servers_tried: 2, server_response_code: 502, server_rtt_us: 500, app_response_time_us: 2_000_000, data_transfer_time: 3,
  response_code: 502, response_length: 1200, total_time: 2004, significant_log: ['ADF_RESPONSE_CODE_5XX'], weight: 12,
}

test('a record is about something', () => {
  expect(headline(entry)).toBe('GET /pay: 502 after 2.0 s')
  expect(headline({ report_timestamp: '', lost: 3, lost_reason: 'no room', weight: 50 })).toBe('3 records are missing: no room')
  expect(headline({ report_timestamp: '', event_id: 'VS_UP' })).toBe('VS_UP')
})

test('the parts are in their order, exact where they can be', () => {
  expect(partsOf(entry).map((part) => [part.key, part.ms])).toEqual([['client_rtt', 0.25], ['wait', 0.3], ['server_rtt', 0.5], ['app_response', 2000], ['transfer', 3]])
  expect(partsOf({ report_timestamp: '' })).toEqual([])
})
