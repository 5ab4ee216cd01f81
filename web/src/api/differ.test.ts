import { expect, test } from 'vitest'
import { differences } from './differ'

const facet = (field: string, values: Record<string, number>) => ({ field, values: Object.entries(values).map(([value, weight]) => ({ value, weight })) })

test('values that are more frequent inside come first, with their shares', () => {
  const inside = { all: 100, facets: [facet('server_name', { slow: 94, fast: 6 }), facet('method', { GET: 60, POST: 40 })] }
  const whole = { all: 1100, facets: [facet('server_name', { fast: 926, slow: 174 }), facet('method', { GET: 860, POST: 240 })] }
  expect(differences(inside, whole)).toEqual([
    { name: 'server', title: 'Server', value: 'slow', inside: 0.94, outside: 0.08 },
    { name: 'method', title: 'Method', value: 'POST', inside: 0.4, outside: 0.2 },
  ])
})

test('nothing differs where nothing is to compare, or the difference is small', () => {
  const same = { all: 100, facets: [facet('method', { GET: 97, POST: 3 })] }
  expect(differences(same, { all: 200, facets: [facet('method', { GET: 192, POST: 8 })] })).toEqual([])
  expect(differences(same, same)).toEqual([])
  expect(differences({ all: 0, facets: [] }, same)).toEqual([])
  expect(differences(same, { all: 200, facets: [] })).toEqual([])
})
