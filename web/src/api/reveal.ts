// Texts of objects, events and errors can come from strangers. Characters that do not show, or that change the order of
// others, are written as \u202e. The client does this to every answer, so that no page can forget it.

const hidden =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\u{10fe00}-\u{10feff}]|\p{Surrogate}/gu

function written(character: string): string {
  if (character === '\n') return ' '
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x10fe00) return `\\x${(code - 0x10fe00).toString(16).padStart(2, '0')}` // a byte that is no UTF-8: docs/logs.md
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

// Nearly all texts are this, which is found out far sooner. An answer can have a hundred thousand texts.
const plain = /^[ -~]*$/

export function revealText(text: string): string {
  return plain.test(text) ? text : text.replace(hidden, written)
}

/** JSON on several lines, for people to edit: characters that do not show are escapes, and mean the same. */
export function revealedJSON(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(hidden, (character) => {
    if (character === '\n') return character // it is between values: in a text it is an escape already
    return Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  })
}

// A JSON text of these characters, without an escape but that of a quote, a slash or a backslash, has no text to reveal.
const needsLook = /[^\n -~]|\\[^"\\/]/

/** Reads JSON, and reveals every text in it. To look at the JSON as a whole takes far less time than to look at each text. */
export function readJSON(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return needsLook.test(text) ? reveal(value) : value
}

/** Returns a JSON value with every text in it revealed, names of fields included. What need not change is the same value. */
export function reveal(value: unknown): unknown {
  if (typeof value === 'string') return revealText(value)
  if (value === null || typeof value !== 'object') return value
  const names = Object.keys(value)
  if (!Array.isArray(value) && !names.every((name) => plain.test(name))) return renamed(value)
  const fields = value as Record<string, unknown>
  for (const name of names) {
    const inner = fields[name]
    if (typeof inner === 'string' ? !plain.test(inner) : typeof inner === 'object' && inner !== null) fields[name] = reveal(inner)
  }
  return value
}

function renamed(value: object): Record<string, unknown> {
  const shown: Record<string, unknown> = Object.create(null)
  for (const [name, inner] of Object.entries(value)) shown[revealText(name)] = reveal(inner)
  return shown
}
