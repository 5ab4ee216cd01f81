import { expect, test } from 'vitest'
import { usualAt, usualOf } from './usual'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 27, 12, minute)).toISOString().replace('.000Z', '+00:00')
const noonS = Date.UTC(2026, 10, 27, 12) / 1000

test('a band has a step for each value that says what is usual, and none below zero', () => {
  const usual = usualOf({
    series: [
      { header: { name: 'weir.p99_total_time' }, data: [{ timestamp: at(5) }, { timestamp: at(10), prediction_interval_low: -3, prediction_interval_high: 40 }, { timestamp: at(15), prediction_interval_low: 5, prediction_interval_high: 50 }] },
      { header: { name: 'l4_client.avg_bandwidth' }, data: [{ timestamp: at(5) }] },
    ],
  })
  expect([...usual.keys()]).toEqual(['weir.p99_total_time'])
  expect(usual.get('weir.p99_total_time')).toEqual([
    { fromS: noonS + 300, toS: noonS + 600, low: 0, high: 40 },
    { fromS: noonS + 600, toS: noonS + 900, low: 5, high: 50 },
  ])
})

test('a band around nothing is nothing', () => {
  const usual = usualOf({ series: [{ header: { name: 'l7_server.avg_resp_5xx' }, data: [{ timestamp: at(5), prediction_interval_low: 0, prediction_interval_high: 4e-9 }] }] })
  expect(usual.get('l7_server.avg_resp_5xx')?.[0]?.high).toBe(0)
})

test('a value is about the time before it, so the end of a step belongs to it and its begin does not', () => {
  const steps = [{ fromS: 300, toS: 600, low: 0, high: 40 }, { fromS: 600, toS: 900, low: 5, high: 50 }]
  expect([300, 301, 600, 601, 900, 901].map((atS) => usualAt(steps, atS)?.high)).toEqual([undefined, 40, 40, 50, 50, undefined])
})
