import { expect, test } from 'vitest'
import { type Alert, pageOf, rank, sentence, told } from './alerts'

const alert = (more: Partial<Alert>): Alert => ({ uuid: 'a', name: 'a', level: 'ALERT_LOW', state: 'ALERT_STATE_ON', weir_condition: 'FIRING', timestamp: 1_795_720_000, obj_name: 'shop', summary: 'is down', ...more })

test('alerts that last come first, then the urgent ones', () => {
  const alerts = [alert({ weir_condition: 'RESOLVED', level: 'ALERT_HIGH' }), alert({}), alert({ level: 'ALERT_HIGH' })]
  expect(alerts.toSorted((a, b) => rank(a) - rank(b)).map((one) => `${one.weir_condition} ${one.level}`)).toEqual(['FIRING ALERT_HIGH', 'FIRING ALERT_LOW', 'RESOLVED ALERT_HIGH'])
})

test('the page says what is wrong, the most urgent first', () => {
  expect(sentence([])).toMatch(/^Nothing is wrong/)
  expect(sentence([alert({ weir_condition: 'RESOLVED' })])).toMatch(/^Nothing is wrong/)
  expect(sentence([alert({ obj_name: 'blog' }), alert({ level: 'ALERT_HIGH' })])).toBe('shop: is down. And 1 more alert.')
  expect(sentence([alert({ summary: 'shop slow: 5 s' })])).toBe('shop slow: 5 s.')
})

test('a receiver that was not reached is told, unless the alert is silenced', () => {
  const dead = { id: '1', action: 'webhook', name: 'pager', about: 'FIRING', state: 'DEAD' as const, tries: 5, answer: '500' }
  const now = Date.parse('2026-11-26T20:00:00Z')
  const silence = { by: 'ann', why: 'known', until: '2026-11-26T21:00:00Z' }
  const of = alert({ alert_config_ref: '/api/alertconfig/rule-1', obj_uuid: 'vs-1', weir_deliveries: [{ ...dead, state: 'DELIVERED', name: 'mail' }, dead] })
  const toldBy = (silences: object[]) => told(of, [{ uuid: 'rule-1', name: 'slow', weir_silences: silences as never }], now).text
  expect(told(of, [], now)).toEqual({ text: 'pager was not reached: 500', isBad: true })
  expect(toldBy([silence])).toBe('silenced by ann: known')
  expect(toldBy([{ ...silence, until: '2026-11-26T19:00:00Z' }, { ...silence, obj_uuid: 'vs-2' }])).toBe('pager was not reached: 500')
  expect(told(alert({}), [], now).text).toBe('')
})

test('an alert leads to its object, and one that is over to its time', () => {
  expect(pageOf(alert({ weir_obj_type: 'VIRTUALSERVICE', obj_uuid: 'vs-1' }))).toBe('/services/vs-1')
  expect(pageOf(alert({ weir_obj_type: 'pool', obj_uuid: 'p-1', weir_obj_part: '10.0.0.1:80' }))).toBe('/pools/p-1?server=10.0.0.1%3A80')
  expect(pageOf(alert({ weir_obj_type: 'POOL', obj_uuid: 'p-1', weir_condition: 'RESOLVED', weir_resolved_timestamp: 1_795_720_060 }))).toMatch(/^\/pools\/p-1\?from=2026-.*&to=2026-/)
  expect(pageOf(alert({ weir_obj_type: 'CONTROLLER' }))).toBeUndefined()
})
