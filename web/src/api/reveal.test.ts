import { expect, test } from 'vitest'
import { readJSON, reveal, revealedJSON, revealText } from './reveal'

test('shows characters that hide or turn others', () => {
  expect(revealText('a\u202eb\u0000c\u200bd\u{e0041}')).toBe('a\\u202eb\\u0000c\\u200bd\\u{e0041}')
  expect(revealText('\ud800x')).toBe('\\ud800x')
})

test('leaves what shows as it is', () => {
  const text = '<img onerror=alert(1)> Straße 東京 🙂 عربي'
  expect(revealText(text)).toBe(text)
  expect(revealText('two\nlines\tand more')).toBe('two lines\\u0009and more')
})

test('goes through objects and lists, and their names', () => {
  expect(JSON.stringify(reveal({ a: ['\u202e', 1, null], '\u0007': true, __proto__x: {} }))).toBe(
    '{"a":["\\\\u202e",1,null],"\\\\u0007":true,"__proto__x":{}}',
  )
})

test('writes bytes that are no UTF-8 as bytes', () => {
  expect(revealText(`a${String.fromCodePoint(0x10fe00 + 0xff)}b${String.fromCodePoint(0x10fe07)}`)).toBe('a\\xffb\\x07')
})

test('JSON to edit shows what is hidden, and means the same', () => {
  const value = { name: 'a\u202eb', text: 'line\nnext\u{e0041}', 'k\u200b': ['\u0007'] }
  const text = revealedJSON(value)
  expect(text).toContain('"a\\u202eb"')
  expect(text).toContain('\\udb40\\udc41')
  expect(text).not.toMatch(/[\u202e\u200b\u0007]/)
  expect(JSON.parse(text)).toEqual(value)
})

test('JSON is revealed however a character is written in it', () => {
  for (const value of ['plain "quoted" C:\\x <b>', '\u202e', 'a\nb', 'tab\t', '\u0007', 'Straße', '\\u202e', '\ud800']) {
    const json = JSON.stringify({ [value]: [value, { deep: value }] })
    for (const text of [json, json.replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`), JSON.stringify(JSON.parse(json), null, 1)]) {
      expect(readJSON(text)).toEqual(reveal(JSON.parse(text)))
    }
  }
})
