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
  expect(told(alert({ weir_deliveries: [{ ...dead, state: 'DELIVERED', name: 'mail' }, dead] }))).toEqual({ text: 'pager was not reached: 500', isBad: true })
  expect(told(alert({ weir_deliveries: [dead], weir_silenced_by: 'ann', weir_silenced_why: 'known' })).text).toBe('silenced by ann: known')
  expect(told(alert({})).text).toBe('')
})

test('an alert leads to its object, and one that is over to its time', () => {
  expect(pageOf(alert({ weir_obj_type: 'VIRTUALSERVICE', obj_uuid: 'vs-1' }))).toBe('/services/vs-1')
  expect(pageOf(alert({ weir_obj_type: 'pool', obj_uuid: 'p-1', weir_obj_part: '10.0.0.1:80' }))).toBe('/pools/p-1?server=10.0.0.1%3A80')
  expect(pageOf(alert({ weir_obj_type: 'POOL', obj_uuid: 'p-1', weir_condition: 'RESOLVED', weir_resolved_timestamp: 1_795_720_060 }))).toMatch(/^\/pools\/p-1\?from=2026-.*&to=2026-/)
  expect(pageOf(alert({ weir_obj_type: 'CONTROLLER' }))).toBeUndefined()
})
