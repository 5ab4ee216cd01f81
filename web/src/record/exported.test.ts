import { expect, test } from 'vitest'
import { events, requests } from '../api/fields'
import type { Answer, Entry } from './ask'
import { exported, exportMost, exportPage, saysExported } from './exported'

const request = (id: number, more: object = {}) => ({ report_timestamp: `t${id}`, request_id: `r${id}`, ...more }) as Entry
/** A store with so many records, newest first. Before each page but the first, as many more have come as late says. */
const store = (size: number, late = 0) => (page: number): Promise<Answer<Entry>> => {
  const from = (page - 1) * exportPage - (page - 1) * late
  const count = size + (page - 1) * late
  return Promise.resolve({ count, percent_remaining: 0, results: Array.from({ length: Math.max(0, Math.min(exportPage, size - from)) }, (_, at) => request(from + at)) })
}

test('a file has all pages of a search, and each record once, though others come meanwhile', async () => {
  const told: number[] = []
  const whole = await exported(requests, 'csv', store(25_000, 7), (saved) => told.push(saved))
  expect([whole.saved, told]).toEqual([25_000, [10_000, 19_993, 25_000]])
  expect(whole.text.split('\r\n').length).toBe(25_002) // a head, and the end of the last line
  expect(saysExported({ ...whole, count: 25_000 }, String)).toBe('Saved all 25000 records that the search finds.')
})

test('a file ends at the limit, and the page says of how many', async () => {
  const cut = await exported(requests, 'json', store(exportMost + 50), () => {})
  expect([cut.saved, (JSON.parse(cut.text) as unknown[]).length]).toEqual([exportMost, exportMost])
  expect(saysExported(cut, String)).toBe('Saved the newest 100000 of 100050 records that the search finds: a file has at most 100000.')
  expect(saysExported({ ...cut, percentUnread: 20 }, String)).toMatch(/Only 80 % of the range was read in time/)
})

test('a table has the fields that one of its records has', async () => {
  const results = [request(1, { method: 'GET', response_code: 200 }), request(2, { user_agent: '=cmd', significant_log: ['A', 'B'] })]
  const { text } = await exported(requests, 'csv', () => Promise.resolve({ count: 2, percent_remaining: 0, results }), () => {})
  expect(text).toBe("report_timestamp,response_code,method,user_agent,request_id,significant_log\r\nt1,200,GET,,r1,\r\nt2,,,'=cmd,r2,\"A, B\"\r\n")
})

test('events of one moment about one object are records of their own', async () => {
  const event = (text: string) => ({ report_timestamp: 't', event_id: 'SERVER_UP', obj_uuid: 'pool', event_description: text }) as unknown as Entry
  const { saved } = await exported(events, 'csv', () => Promise.resolve({ count: 2, percent_remaining: 0, results: [event('a'), event('b')] }), () => {})
  expect(saved).toBe(2)
})
