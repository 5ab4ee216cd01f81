import { expect, test } from 'vitest'
import type { Field } from '../api/schema'
import { emptyOf, hintOf, holdsProblem, isSet, problemAt, sectionsOf, summaryOf, typed } from './section'

const text = (name: string, more: Partial<Field> = {}): Field => ({ name, type: 'string', ...more })
const names = (fields: Field[]) => fields.map((field) => field.name).join(' ')

test('shows first what is set or must be, and what has no function last', () => {
  const fields: Field[] = [
    text('uuid'),
    text('cloud_ref', { ref: 'cloud', default: '/api/cloud?name=Default-Cloud' }),
    text('pool_ref', { ref: 'pool' }),
    text('hash', { default: 'A' }),
    text('port', { default: 'B' }),
    text('name', { required: true }),
    text('waf', { effect: 'closes', kept: true }),
    text('bot', { effect: 'none', kept: true }),
    text('url', { computed: true }),
    { name: 'policy', type: 'object', fields: [{ name: 'rules', type: 'list' }] },
    { name: 'limits', type: 'object', fields: [text('a'), { name: 'b', type: 'list' }] },
  ]
  const sections = sectionsOf(fields, { name: 'x', port: 'C', hash: 'A', waf: 'w', cloud_ref: 'https://c/api/cloud/cloud-1#Default-Cloud' })
  expect(names(sections.main)).toBe('name pool_ref port policy')
  expect(names(sections.more)).toBe('cloud_ref hash limits')
  expect(names(sections.idle)).toBe('waf')
  expect(names(sections.rest)).toBe('bot')
})

test('tells a value from an absent one', () => {
  expect(isSet(text('a'), '')).toBe(false)
  expect(isSet({ name: 'a', type: 'boolean', default: false }, true)).toBe(true)
  expect(isSet({ name: 'a', type: 'boolean', kept: true }, false)).toBe(false)
  expect(isSet({ name: 'a', type: 'list' }, [])).toBe(false)
})

test('fills what must be there when an object is added', () => {
  const server: Field = {
    name: '',
    type: 'object',
    fields: [{ name: 'ip', type: 'object', required: true, fields: [text('addr', { required: true }), text('type', { required: true, default: 'V4' })] }, text('hostname')],
  }
  expect(emptyOf(server)).toEqual({ ip: { addr: '', type: 'V4' } })
})

test('reads numbers, and leaves what is none to the controller', () => {
  const port: Field = { name: 'port', type: 'integer', min: 1, max: 65535, also: 0, default: 80 }
  expect([typed(port, '443'), typed(port, ''), typed(port, 'https')]).toEqual([443, undefined, 'https'])
  expect(typed(text('name'), '12')).toBe('12')
  expect(hintOf(port)).toBe('1 to 65535, or 0; default 80')
  expect(hintOf({ name: 'n', type: 'integer', min: 0, max: 4294967295 })).toBe('')
})

test('puts a problem at its field, or at the field that holds it', () => {
  const problem = { field: 'servers[3].port', problem: 'is out of range' }
  expect(problemAt(problem, 'servers[3].port', 'whole')).toBe('is out of range')
  expect(problemAt(problem, 'servers', 'whole')).toBe('[3].port: is out of range')
  expect(problemAt(problem, 'servers', 'parts')).toBe('')
  expect([holdsProblem(problem, 'servers[3]'), holdsProblem(problem, 'servers[30]'), holdsProblem(problem, 'server')]).toEqual([true, false, false])
})

test('says what an item of a list is', () => {
  expect(summaryOf({ ip: { addr: '10.0.0.1', type: 'V4' }, port: 80 })).toBe('10.0.0.1:80')
  expect(summaryOf({ key: 'env', values: ['a'] })).toBe('env')
  expect(summaryOf({ tenant_ref: 'https://x/api/tenant/t#red', all_tenants: false })).toBe('red')
})
