import { expect, test } from 'vitest'
import { fieldOf, requests } from './fields'
import { conditionsIn, parse, turned, withoutTerm, withTerm } from './filter'

const of = (text: string) => conditionsIn(text, requests)
const field = (name: string) => fieldOf(requests, name)!

test('terms become the conditions of the API', () => {
  expect(of('status:502')).toEqual(['eq(response_code,"502")'])
  expect(of('status:>=500 -method:GET')).toEqual(['ge(response_code,"500")', 'ne(method,"GET")'])
  expect(of('status:500..599')).toEqual(['ge(response_code,"500")', 'le(response_code,"599")'])
  expect(of('total:>1.5s total:..250ms sent:>1k')).toEqual(['gt(total_time,"1500")', 'le(total_time,"250")', 'gt(response_length,"1000")'])
  expect(of('path:/pay* path:*card* path:/x referer:*')).toEqual(['sw(uri_path,"/pay")', 'co(uri_path,"card")', 'eq(uri_path,"/x")', 'ne(referer,"")'])
  expect(of('-ua:bot ua:"Mozilla 5" -status:>=500 -referer:*')).toEqual(['nc(user_agent,"bot")', 'co(user_agent,"Mozilla 5")', 'lt(response_code,"500")', 'eq(referer,"")'])
  expect(of('resumed:true -resumed:true')).toEqual(['eq(ssl_session_reused,"true")', 'eq(ssl_session_reused,"false")'])
  expect(of('checkout -"two words" response_code:404')).toEqual(['co(all,"checkout")', 'nc(all,"two words")', 'eq(response_code,"404")'])
})

test('all that the API has can be searched, by short names and its own', () => {
  expect(of('grpc:>0 browser:Firefox os:Linux device:Bot source:10.0.0.9 filter:vip client_rtt_us:>900')).toEqual([
    'gt(grpc_status,"0")', 'eq(client_browser,"Firefox")', 'eq(client_os,"Linux")', 'eq(client_device,"Bot")', 'eq(source_ip,"10.0.0.9")', 'eq(client_log_filter_name,"vip")', 'gt(client_rtt_us,"900")',
  ])
  expect(of('request_rule:"to blue" vh_match_rule:cart')).toEqual(['eq(http_request_policy_rule_name,"to blue")', 'eq(vh_match_rule,"cart")'])
  expect(of('pool:carts pool_name:carts')).toEqual(['eq(pool,"carts")', 'eq(pool_name,"carts")'])
})

test('times in µs are typed as the others are, and numbers of the API as it has them', () => {
  expect(of('wait:>1.5 wait:<2s wait_us:300 app_response:>5')).toEqual(['gt(wait_us,"1500")', 'lt(wait_us,"2000000")', 'eq(wait_us,"300")', 'gt(app_response_time,"5")'])
  expect(withTerm('', field('wait'), '300', false)).toBe('wait:0.3ms')
  expect(of('wait:0.3ms')).toEqual(['eq(wait_us,"300")'])
})

test('a value cannot become more than a value', () => {
  expect(of('path:"a\\",x) or ne(tenant,\\"b"')).toEqual(['eq(uri_path,"a\\",x) or ne(tenant,\\"b")'])
  expect(of('ua:")(,*|\\\\"')).toEqual(['co(user_agent,")(,*|\\\\")'])
})

test('what a page writes as \\u202e is that character, or these characters', () => {
  const byte = String.fromCodePoint(0x10feff)
  expect(of('path:"\\u202etxt"')).toEqual(['any(eq(uri_path,"\u202etxt"),eq(uri_path,"\\\\u202etxt"))'])
  expect(of('-path:"\\xff"')).toEqual([`ne(uri_path,"${byte}")`, 'ne(uri_path,"\\\\xff")'])
  expect(of('path:/\\xff*')).toEqual([`any(sw(uri_path,"/${byte}"),sw(uri_path,"/\\\\xff"))`])
  expect(of('"\\u005cxff"')).toEqual(['any(co(all,"\\\\xff"),co(all,"\\\\u005cxff"))'])
  expect(of('ua:"\\u{e0041}" OR status:502')).toEqual(['any(any(co(user_agent,"\u{e0041}"),co(user_agent,"\\\\u{e0041}")),eq(response_code,"502"))'])
})

test('a wrong word is marked, and takes part in nothing', () => {
  for (const text of ['nothing:x', 'status:', 'status:high', 'path:*x', '-path:/x*', '-status:1..2', 'status:..', 'resumed:maybe', 'total:5h', 'http://x']) {
    const [term] = parse(text, requests)
    expect([text, term?.conditions, typeof term?.problem]).toEqual([text, [], 'string'])
  }
  expect(of('status:high method:GET')).toEqual(['eq(method,"GET")'])
  expect(parse('', requests)).toEqual([])
  expect(parse('"open quote', requests)[0]?.conditions).toEqual(['co(all,"open quote")'])
})

test('values that a page shows become terms, which chips change', () => {
  const text = withTerm('status:>=500', field('path'), '/a b "c"', false)
  expect(text).toBe('status:>=500 path:"/a b \\"c\\""')
  expect(of(text)[1]).toBe('eq(uri_path,"/a b \\"c\\"")')
  expect(withTerm(text, field('path'), '/a b "c"', true)).toBe('status:>=500 -path:"/a b \\"c\\""')
  expect(turned('a -b', '-b')).toBe('a b')
  expect(withoutTerm('a -b', 'a')).toBe('-b')
  expect(of(withTerm('', field('referer'), '', false))).toEqual(['eq(referer,"")'])
})

test('what is shown of any value finds that value again', () => {
  for (const value of ['plain', 'a*b', '..', '1..2', '-x', 'a:b', 'C:\\dir', '"', ' ', 'x\\u202ey', '=1', '(a,b)', '\\\\u202e', 'a\\']) {
    const [only] = of(withTerm('', field('path'), value, false))
    const finds = (wanted: string) => `eq(uri_path,"${wanted.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}")`
    const meant = value.replace('\\u202e', '\u202e')
    expect(only).toBe(meant === value ? finds(value) : `any(${finds(meant)},${finds(value)})`)
  }
})

test('parentheses stand around words with OR between them', () => {
  expect(of('-(a OR b)')).toEqual(['nc(all,"a")', 'nc(all,"b")'])
  expect(of('-( status:502 OR -method:GET ) c')).toEqual(['ne(response_code,"502")', 'eq(method,"GET")', 'co(all,"c")'])
  expect(of('( boom OR crash )')).toEqual(['any(co(all,"boom"),co(all,"crash"))'])
  expect(of('(boom) -(crash) "(quoted OR b)" path:"/a (b)"')).toEqual(['co(all,"boom")', 'nc(all,"crash")', 'co(all,"(quoted OR b)")', 'eq(uri_path,"/a (b)")'])
  expect(of('(ua:"a)" OR b)')).toEqual(['any(co(user_agent,"a)"),co(all,"b"))'])
  for (const wrong of ['(boom crash) OR fire', 'boom OR (crash OR fire)', '((a OR b) OR c)', '(a b)', '(a OR)', '()', '(a', 'a)', 'f(x)', 'path:(a OR b)', '("a OR b)', '-(-(a OR b))', '(a OR b)c']) {
    expect([wrong, of(wrong).some((one) => one.includes('(a')), parse(wrong, requests).some((term) => term.problem !== undefined)]).toEqual([wrong, false, true])
  }
  expect(turned('-( a OR b ) c', '-(a OR b)')).toBe('(a OR b) c')
  expect(withTerm('', field('path'), '/a(b)', false)).toBe('path:"/a(b)"')
})

test('an OR that waits for its second word takes none that a page adds', () => {
  expect(withTerm('status:502 OR', field('method'), 'GET', false)).toBe('status:502 method:GET')
  expect(withTerm('OR', field('method'), 'GET', true)).toBe('-method:GET')
})

test('OR makes one term of words, of which one must hold', () => {
  expect(of('status:502 OR status:503 method:GET')).toEqual(['any(eq(response_code,"502"),eq(response_code,"503"))', 'eq(method,"GET")'])
  expect(of('(status:502 OR total:1s..2s OR -ua:bot)')).toEqual(['any(eq(response_code,"502"),all(ge(total_time,"1000"),le(total_time,"2000")),nc(user_agent,"bot"))'])
  expect(of('path:"a OR b" or')).toEqual(['eq(uri_path,"a OR b")', 'co(all,"or")'])
  const text = 'a OR b c'
  expect(withoutTerm(text, 'a OR b')).toBe('c')
  expect(turned(text, 'a OR b')).toBe(text)
  expect(withTerm(text, field('method'), 'GET', true)).toBe('a OR b c -method:GET')
  expect(withTerm('(a OR b) c', field('method'), 'GET', true)).toBe('a OR b c -method:GET')
  for (const wrong of ['a OR', 'OR', 'OR OR', 'status:high OR status:502']) expect([wrong, parse(wrong, requests).some((term) => term.problem !== undefined)]).toEqual([wrong, true])
})

test('values of any kind of field make terms that are understood', () => {
  expect(of(withTerm('', field('resumed'), 'true', false))).toEqual(['eq(ssl_session_reused,"true")'])
  expect(of(withTerm('', field('status'), '502', false))).toEqual(['eq(response_code,"502")'])
  expect(of(withTerm('', field('ua'), 'ends in \\', false))).toEqual(['co(user_agent,"ends in \\\\")'])
})
