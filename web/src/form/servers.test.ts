import { expect, test } from 'vitest'
import { parseServers, textOf } from './servers'

const texts = (pasted: string) => parseServers(pasted).servers.map(textOf)

test('reads lists and ranges, however they are separated', () => {
  expect(texts('10.0.0.7:8080, 10.0.0.8-10:8080\n10.0.1.1;[2001:db8::1]:80 2001:db8::2')).toEqual([
    '10.0.0.7:8080', '10.0.0.8:8080', '10.0.0.9:8080', '10.0.0.10:8080', '10.0.1.1', '[2001:db8::1]:80', '2001:db8::2',
  ])
  expect(texts('10.0.0.1-10.0.0.3:80')).toHaveLength(3)
  expect(texts('http://10.0.0.1:80/')).toEqual(['10.0.0.1:80'])
  expect(texts(' \n ')).toEqual([])
  expect(parseServers('web-1.example.com:80 http://localhost/').servers).toEqual([
    { addr: 'web-1.example.com', type: 'DNS', port: 80 }, { addr: 'localhost', type: 'DNS', port: undefined },
  ])
})

test('says what it could not read', () => {
  const problems = parseServers('web.example.com:0 a_b!.example 10.0.0.1:0 10.0.0.9-3 10.0.0.300 10.0.0.1-10.0.1.3 10.0.0.5 10.0.0.5 [::g]:1').problems
  expect(problems).toEqual([
    'web.example.com:0: 0 is no port; give 1 to 65535',
    'a_b!.example: is no address',
    '10.0.0.1:0: 0 is no port; give 1 to 65535',
    '10.0.0.9-3: the range ends at 3, before it begins',
    '10.0.0.300: is no address',
    '10.0.0.1-10.0.1.3: a range is of the last number, such as 10.0.0.8-20',
    '10.0.0.5 is there twice',
    '[::g]:1: is no address',
  ])
})

test('takes at most 5,000 servers', () => {
  const all = Array.from({ length: 20 }, (_, at) => `10.0.${at}.0-255`).join(' ')
  expect(parseServers(all).problems).toEqual(['These are more than 5000 servers'])
})
