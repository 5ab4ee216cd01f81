import { expect, test } from 'vitest'
import { allOf, differences, notCompared } from './differ'

const facet = (field: string, values: Record<string, number>) => ({ field, values: Object.entries(values).map(([value, weight]) => ({ value, weight })) })

test('values that are more frequent inside come first, with their shares', () => {
  const inside = { all: 100, facets: [facet('server_name', { slow: 94, fast: 6 }), facet('method', { GET: 60, POST: 40 })] }
  const whole = { all: 1100, facets: [facet('server_name', { fast: 926, slow: 174 }), facet('method', { GET: 860, POST: 240 })] }
  expect(differences(inside, whole)).toEqual([
    { name: 'server', title: 'Server', value: 'slow', inside: 0.94, outside: 0.08, isBound: false },
    { name: 'method', title: 'Method', value: 'POST', inside: 0.4, outside: 0.2, isBound: false },
  ])
})

test('nothing differs where nothing is to compare, or the difference is small', () => {
  const same = { all: 100, facets: [facet('method', { GET: 97, POST: 3 })] }
  expect(differences(same, { all: 200, facets: [facet('method', { GET: 192, POST: 8 })] })).toEqual([])
  expect(differences(same, same)).toEqual([])
  expect(differences({ all: 0, facets: [] }, same)).toEqual([])
  expect(differences(same, { all: 200, facets: [] })).toEqual([])
})

test('a value that is not among the most frequent ones of all has at most the share of the last of these', () => {
  const inside = { all: 100, facets: [facet('client_ip', { '192.0.2.9': 50, '192.0.2.1': 50 })] }
  const whole = { all: 1100, facets: [facet('client_ip', { '192.0.2.1': 560, '192.0.2.2': 70 })] }
  expect(differences(inside, whole)).toEqual([{ name: 'client', title: 'Client', value: '192.0.2.9', inside: 0.5, outside: 0.02, isBound: true }])
})

test('fields with too many values are named, and the number of requests does not come from these', () => {
  const facets = [{ field: 'uri_path', values: [], too_many: true }, facet('method', { A: 1, B: 1 }), facet('ssl_session_reused', { true: 30, '': 170 })]
  expect(notCompared({ all: 0, facets: [] }, { all: 200, facets })).toEqual(['Path'])
  expect(allOf(facets)).toBe(200)
})
