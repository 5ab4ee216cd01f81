import { expect, test } from 'vitest'
import { best } from './best'

const targets = ['Services', 'web-shop', 'shop', 'workshop'].map((name) => ({ path: name, name, what: name === 'Services' ? 'page' : 'service' }))
const found = (text: string) => best(targets, text, 3).map((target) => target.name)

test('puts the best match first', () => {
  expect(found('shop')).toEqual(['shop', 'web-shop', 'workshop'])
  expect(found('service w')).toEqual(['web-shop', 'workshop'])
  expect(found('')).toEqual(['Services', 'web-shop', 'shop'])
  expect(found('none')).toEqual([])
})
