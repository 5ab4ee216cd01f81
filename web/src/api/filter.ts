// What a reader types to find records: words, and field:value. It becomes a list of terms, all of which must hold; chips show the
// same terms. OR between words makes one term of them, of which one must hold: "a OR b c" is (a OR b) and c. Parentheses may stand
// around such a term, with - in front if none of them may hold. A word that cannot be understood is marked, and takes part in nothing.
import { type Field, fieldOf, type Kind } from './fields'

export interface Term {
  /** As it was typed. */
  source: string
  /** The conditions of the API; empty if there is a problem. */
  conditions: string[]
  problem?: string
}

export function parse(text: string, kind: Kind): Term[] {
  return terms(text).map((source) => {
    try {
      return { source, conditions: conditionsOfTerm(source, kind) }
    } catch (error) {
      return { source, conditions: [], problem: error instanceof Problem ? error.message : String(error) }
    }
  })
}

/** The conditions of all terms that are understood. */
export function conditionsIn(text: string, kind: Kind): string[] {
  return parse(text, kind).flatMap((term) => term.conditions)
}

class Problem extends Error {}

/** Splits at spaces outside of quotes and of parentheses. */
function tokens(text: string): string[] {
  return text.match(/(?:"(?:\\.|[^"\\])*"?|\((?:"(?:\\.|[^"\\])*"|[^"()])*\)|[^\s"])+/g) ?? []
}

const or = ' OR '

/** The terms of a text: words, words with OR between them, and these with - and parentheses around them. */
function terms(text: string): string[] {
  const found: string[] = []
  let follows = false
  for (const token of tokens(text)) {
    if (token === 'OR' && found.length > 0) follows = true
    else if (follows) {
      found.push(`${found.pop()}${or}${token}`)
      follows = false
    } else found.push(token)
  }
  return [...found.map(bare), ...(follows ? ['OR'] : [])]
}

/** The words in parentheses around a whole term; undefined if it has none, or something else than words with OR between them inside. */
function grouped(term: string): { isNegative: boolean; words: string[] } | undefined {
  const [, minus, inner = ''] = /^(-?)\(((?:"(?:\\.|[^"\\])*"|[^"()])*)\)$/s.exec(term) ?? []
  const found = tokens(inner)
  if (minus === undefined || found.length % 2 === 0 || found.some((token, at) => (token === 'OR') !== (at % 2 === 1))) return undefined
  return { isNegative: minus === '-', words: found.filter((_, at) => at % 2 === 0) }
}

/** A term without parentheses that it does not need. */
function bare(term: string): string {
  const group = grouped(term)
  if (!group) return term
  if (!group.isNegative) return group.words.join(or)
  return group.words.length === 1 ? negated(group.words[0] ?? '') : `-(${group.words.join(or)})`
}

function negated(word: string): string {
  return word.startsWith('-') && word.length > 1 ? word.slice(1) : `-${word}`
}

function hasParentheses(word: string): boolean {
  return /[()]/.test(word.replace(/"(?:\\.|[^"\\])*"?/g, ''))
}

/** Tells whether a term has alternatives. */
export function isAlternative(source: string): boolean {
  return parts(source).length > 1
}

function parts(source: string): string[] {
  return tokens(source).filter((token) => token !== 'OR')
}

function conditionsOfTerm(source: string, kind: Kind): string[] {
  if (source === 'OR') throw new Problem('OR stands between two words. Put it in quotes if you look for it as it is.')
  const group = grouped(source)
  // None of them holds: each is excluded.
  if (group?.isNegative) return group.words.flatMap((word) => conditionsOf(negated(word), kind))
  if (parts(source).some(hasParentheses)) throw new Problem('Parentheses stand around words with OR between them, such as -(a OR b), and not inside of others. Put them in quotes if you look for them as they are.')
  const alternatives = parts(source).map((part) => conditionsOf(part, kind))
  if (alternatives.length === 1) return alternatives[0] ?? []
  return [`any(${alternatives.map((all) => (all.length === 1 ? all[0] : `all(${all.join(',')})`)).join(',')})`]
}

function conditionsOf(source: string, kind: Kind): string[] {
  const isNegative = source.startsWith('-') && source.length > 1
  const body = isNegative ? source.slice(1) : source
  const named = /^([A-Za-z_]+):(.*)$/s.exec(body)
  if (!named) return compared(isNegative ? 'nc' : 'co', 'all', body)
  const [, name = '', value = ''] = named
  const field = fieldOf(kind, name.toLowerCase())
  if (!field) throw new Problem(`There is no field “${name}”. Put the word in quotes if you look for it as it is.`)
  if (value === '') throw new Problem(`Write a value after “${name}:”.`)
  if (field.kind === 'boolean') return [ofBoolean(field, value, isNegative)]
  if (field.kind === 'text' || field.kind === 'words') return ofText(field, value, isNegative)
  // By its short name, a time in µs is typed as the others are, in ms; by its name in the API it is a number as the API has it.
  return ofNumber(field.kind === 'us' && name.toLowerCase() === field.field ? { ...field, kind: 'number' } : field, value, isNegative)
}

function ofBoolean(field: Field, value: string, isNegative: boolean): string {
  if (value !== 'true' && value !== 'false') throw new Problem(`“${field.name}” is true or false.`)
  return condition('eq', field.field, String((value === 'true') !== isNegative))
}

function ofText(field: Field, value: string, isNegative: boolean): string[] {
  const [equals, contains] = isNegative ? ['ne', 'nc'] : ['eq', 'co']
  if (value === '*') return [condition(isNegative ? 'eq' : 'ne', field.field, '')]
  if (value.startsWith('"') || !value.includes('*')) return compared(field.kind === 'words' && unquoted(value) !== '' ? contains! : equals!, field.field, value)
  const inner = /^(\*?)([^*]+)\*$/.exec(value)
  if (!inner) throw new Problem('A * stands at the end (begins with), or at both ends (contains).')
  if (inner[1] === '*') return compared(contains!, field.field, inner[2] ?? '')
  if (isNegative) throw new Problem('What begins with a text cannot be excluded. Write the * at both ends.')
  return compared('sw', field.field, inner[2] ?? '')
}

const opposite: Record<string, string> = { eq: 'ne', lt: 'ge', le: 'gt', gt: 'le', ge: 'lt' }

function ofNumber(field: Field, value: string, isNegative: boolean): string[] {
  const range = /^(.*?)\.\.(.*)$/.exec(value)
  if (range) {
    if (isNegative) throw new Problem('A range cannot be excluded: write two terms, such as total:<100 or total:>300.')
    const ends: [string, string][] = [['ge', range[1] ?? ''], ['le', range[2] ?? '']]
    const given = ends.filter(([, end]) => end !== '')
    if (given.length === 0) throw new Problem('A range has a begin or an end, such as 100..300.')
    return given.map(([op, end]) => condition(op, field.field, numberOf(field, end)))
  }
  const compared = /^(>=|<=|>|<|=)?(.*)$/.exec(value)
  const op = { '>=': 'ge', '<=': 'le', '>': 'gt', '<': 'lt' }[compared?.[1] ?? ''] ?? 'eq'
  return [condition(isNegative ? opposite[op]! : op, field.field, numberOf(field, compared?.[2] ?? ''))]
}

const units: Record<string, Record<string, number>> = { ms: { '': 1, ms: 1, s: 1000, m: 60_000 }, us: { '': 1000, us: 1, ms: 1000, s: 1e6, m: 6e7 }, bytes: { '': 1, k: 1e3, M: 1e6, G: 1e9, kB: 1e3, MB: 1e6, GB: 1e9, B: 1 }, number: { '': 1 } }

function numberOf(field: Field, text: string): string {
  const [, digits = '', unit = ''] = /^"?(\d{1,15}(?:\.\d{1,6})?)([A-Za-z]*)"?$/.exec(text) ?? []
  const factor = units[field.kind]?.[unit]
  if (digits === '' || factor === undefined) {
    const known = Object.keys(units[field.kind] ?? {}).filter(Boolean)
    throw new Problem(`“${field.name}” is a number${known.length ? `, with ${known.slice(0, 3).join(', ')} or nothing behind it` : ''}, and “${text}” is none.`)
  }
  return String(Number((Number(digits) * factor).toFixed(6)))
}

/**
 * The conditions that a field compares with a text as a page shows it. What reads \u202e there is that character, or these six
 * characters: both are found.
 */
function compared(op: string, field: string, text: string): string[] {
  const literal = unquoted(text)
  const each = [...new Set([meant(literal), literal])].map((value) => condition(op, field, value))
  return each.length === 1 || op === 'ne' || op === 'nc' ? each : [`any(${each.join(',')})`]
}

function unquoted(text: string): string {
  const quoted = /^"((?:\\.|[^"\\])*)"?$/s.exec(text)
  return quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : text
}

/** A text in which characters that pages write as \u202e are themselves again. */
function meant(text: string): string {
  return text.replace(/\\u\{([0-9a-f]{5,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi, (whole, long?: string, short?: string, byte?: string) => {
    if (byte !== undefined) return String.fromCodePoint(0x10fe00 + parseInt(byte, 16))
    const code = parseInt(long ?? short ?? '', 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

export function condition(op: string, field: string, value: string): string {
  return `${op}(${field},"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}")`
}

/** Adds a term for a value that a page shows, and removes the opposite one, and an OR that waits for its second word. */
export function withTerm(text: string, field: Field, value: string, isNegative: boolean): string {
  const term = `${field.name}:${quoted(field.kind === 'us' ? `${Number(value) / 1000}ms` : value)}`
  const rest = terms(text).filter((one) => one !== term && one !== `-${term}` && one !== 'OR')
  return [...rest, isNegative ? `-${term}` : term].join(' ')
}

export function withoutTerm(text: string, source: string): string {
  return terms(text).filter((term) => term !== source).join(' ')
}

/** Excludes what a term includes, or the other way round. What has alternatives stays. */
export function turned(text: string, source: string): string {
  return terms(text).map((term) => (term !== source || isAlternative(term) ? term : negated(term))).join(' ')
}

function quoted(value: string): string {
  if (value !== '' && /^[^\s"*\\:,()<>=.-][^\s"*\\()]*$/.test(value) && !value.includes('..')) return value
  return `"${value.replace(/\\(?!u[0-9a-f{]|x[0-9a-f])/gi, '\\\\').replaceAll('"', '\\"')}"`
}
