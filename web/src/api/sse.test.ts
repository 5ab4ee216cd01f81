import { expect, test } from 'vitest'
import { EventReader } from './sse'

test('reads events however the network cuts them, and leaves comments out', () => {
  const text = 'event: snapshot\nid: 7\ndata: {"a":1}\n\n: nothing new\n\nevent: delta\r\nid: 8\r\ndata: {}\r\n\r\n'
  for (const size of [1, 5, 1000]) {
    const reader = new EventReader()
    const read = []
    for (let at = 0; at < text.length; at += size) read.push(...reader.read(text.slice(at, at + size)))
    expect(read).toEqual([
      { event: 'snapshot', id: '7', data: '{"a":1}' },
      { event: 'delta', id: '8', data: '{}' },
    ])
  }
})

test('keeps an event that is not complete for later', () => {
  expect(new EventReader().read('event: delta\ndata: {"half":')).toEqual([])
})
