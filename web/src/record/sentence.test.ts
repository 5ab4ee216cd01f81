import { expect, test } from 'vitest'
import { headline, partsOf, stagesOf } from './sentence'

const entry = {
  report_timestamp: '2026-11-26T19:00:00.123Z', method: 'GET', host: 'shop.example', uri_path: '/pay', uri_query: 'id=7', http_version: '1.1', user_agent: 'curl/8',
  client_ip: '10.0.0.1', client_src_port: 5000, vs_ip: '10.1.0.10', client_dest_port: 443, ssl_version: 'TLSv1.3', ssl_cipher: 'AES', ssl_session_reused: true,
  client_rtt: 0, client_rtt_us: 250, client_rtt_age_ms: 3000, service_engine: 'engine-1', vcpu_id: 1, vs_name: 'shop', wait_us: 300, connect_us: 100,
  pool_name: 'pool-a', server_ip: 'fd00::7', server_dest_port: 80, servers_tried: 2, server_response_code: 502, server_rtt_us: 500, app_response_time_us: 2_000_000, data_transfer_time: 3,
  response_code: 502, response_length: 1200, total_time: 2004, significant_log: ['ADF_RESPONSE_CODE_5XX'], weight: 12,
}

test('a record is a sentence for each stage', () => {
  expect(headline(entry)).toBe('GET /pay: 502 after 2.0 s')
  expect(Object.fromEntries(stagesOf(entry).map((stage) => [stage.name, stage.text]))).toEqual({
    Client: '10.0.0.1:5000 came to 10.1.0.10:443 over TLSv1.3 (AES), session resumed. The round trip to it took 0.25 ms, measured 3.0 s before.',
    Request: 'GET shop.example/pay?id=7, HTTP/1.1. It calls itself curl/8.',
    Engine: 'engine-1, worker 1, served it for shop. After 0.30 ms it was with the server, of which connecting took 0.10 ms.',
    Server: '[fd00::7]:80 of pool pool-a, the last of 2 that were tried. It needed 2.0 s, and the round trip 0.50 ms. It answered 502.',
    Response: 'The client got 502, 1.2 kB, in 3.00 ms.',
    Kept: 'Because of response code 5xx. It stands for 12, itself included.',
  })
})

test('the parts are in their order, exact where they can be', () => {
  expect(partsOf(entry).map((part) => [part.key, part.ms])).toEqual([['client_rtt', 0.25], ['wait', 0.3], ['server_rtt', 0.5], ['app_response', 2000], ['transfer', 3]])
  expect(partsOf({ report_timestamp: '' })).toEqual([])
})

test('what is not known is not told', () => {
  expect(stagesOf({ report_timestamp: '', method: 'GET', uri_path: '/', local_response: 'true', response_code: 404 })).toEqual([
    { name: 'Request', text: 'GET /.' },
    { name: 'Server', text: 'No server was asked: Weir answered by itself.' },
    { name: 'Response', text: 'The client got 404, which Weir made.' },
  ])
})
