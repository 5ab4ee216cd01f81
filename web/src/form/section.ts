// Which fields of a kind a form shows first, and what an input shows for a value. No I/O.
import type { Field } from '../api/schema'
import { type Json, type JsonObject, same } from '../api/value'

export interface Sections {
  /** What is set, or must be. */
  main: Field[]
  /** What has its default. */
  more: Field[]
  /** What has no function in Weir, and is set. */
  idle: Field[]
  /** What has no function in Weir, and is not set. */
  rest: Field[]
}

// The controller sets these; and the tenant is that of the page.
const own = new Set(['uuid', 'url', '_last_modified', 'configpb_attributes', 'weir_warnings', 'tenant_ref'])
const first = ['name', 'username', 'full_name', 'description', 'enabled', 'type']

/** Sorts fields by how much they matter for an object. The result does not change while one edits it. */
export function sectionsOf(fields: Field[], object: JsonObject): Sections {
  const sections: Sections = { main: [], more: [], idle: [], rest: [] }
  for (const field of fields) {
    if (own.has(field.name) || field.computed) continue
    const set = isSet(field, object[field.name])
    if (field.effect) (set ? sections.idle : sections.rest).push(field)
    else if (set || field.required || first.includes(field.name) || isWeighty(field)) sections.main.push(field)
    else sections.more.push(field)
  }
  const rank = (field: Field) => {
    const at = first.indexOf(field.name)
    return at < 0 ? first.length : at
  }
  sections.main.sort((a, b) => rank(a) - rank(b))
  return sections
}

/** What an object is made of: references and lists that have no default, such as the rules of a policy. */
function isWeighty(field: Field): boolean {
  const isList = field.type === 'list' || (field.fields?.length === 1 && field.fields[0]?.type === 'list')
  return field.default === undefined && (field.ref !== undefined || isList) && field.name !== 'markers'
}

/** Tells whether a value says more than an absent one would. */
export function isSet(field: Field, value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false
  if (Array.isArray(value) && value.length === 0) return false
  if (field.default === undefined) return !(field.kept && (value === false || value === 0))
  return !same(value, field.default) && !isDefaultReference(field, value)
}

/** A default reference is by name, /api/cloud?name=Default-Cloud, and a stored one is https://…/api/cloud/UUID#Default-Cloud. */
function isDefaultReference(field: Field, value: Json): boolean {
  if (!field.ref || typeof value !== 'string') return false
  const name = /\?name=(.*)$/.exec(String(field.default))?.[1]
  return name !== undefined && value.endsWith(`#${name}`)
}

/** What a field is when it is added to a list, or switched on: with what the controller would fill in. */
export function emptyOf(field: Field): Json {
  if (field.default !== undefined) return structuredClone(field.default) as Json
  switch (field.type) {
    case 'boolean':
      return false
    case 'list':
      return []
    case 'object':
      return Object.fromEntries((field.fields ?? []).filter((inner) => inner.required).map((inner) => [inner.name, emptyOf(inner)]))
    default:
      return ''
  }
}

/** Reads what somebody typed: a number if it is one; the controller says what is wrong with anything else. */
export function typed(field: Field, text: string): Json | undefined {
  if (text === '') return undefined
  if (field.type !== 'integer' && field.type !== 'number') return text
  const value = Number(text)
  return text.trim() === '' || Number.isNaN(value) ? text : value
}

const hugest = 2 ** 31 - 1 // a limit that says nothing

/** "1 to 65535, or 0; default 80". */
export function hintOf(field: Field): string {
  const parts: string[] = []
  const isBounded = field.max !== undefined && field.max < hugest
  if (field.min !== undefined && isBounded) parts.push(`${field.min} to ${field.max}`)
  else if (field.min !== undefined && field.min !== 0) parts.push(`at least ${field.min}`)
  else if (isBounded) parts.push(`at most ${field.max}`)
  if (field.also !== undefined) parts.push(`or ${field.also}`)
  const range = parts.join(', ')
  const otherwise = field.ref || field.enum ? '' : defaultText(field)
  return [range, otherwise && `default ${otherwise}`].filter(Boolean).join('; ')
}

export function defaultText(field: Field): string {
  if (field.default === undefined || field.type === 'boolean') return ''
  const value = field.default
  if (typeof value === 'string') return /\?name=(.*)$/.exec(value)?.[1] ?? value
  return typeof value === 'number' ? String(value) : ''
}

// Texts of more than one line.
const long = /certificate|^key$|body|command_code|_key$|ssh|pem/

export function isLong(field: Field, value: Json | undefined): boolean {
  return field.type === 'string' && (long.test(field.name) || (typeof value === 'string' && value.includes('\n')))
}

export interface Problem {
  field: string
  problem: string
}

/** The problem that belongs to a place in the form: to the field itself, or to a part of it that the form does not show. */
export function problemAt(problem: Problem | undefined, path: string, shows: 'parts' | 'whole'): string {
  if (!problem || path === '') return ''
  if (problem.field === path) return problem.problem
  const inside = problem.field.startsWith(`${path}.`) || problem.field.startsWith(`${path}[`)
  return inside && shows === 'whole' ? `${problem.field.slice(path.length).replace(/^\./, '')}: ${problem.problem}` : ''
}

/** Tells whether the problem is somewhere in a field: what holds it shall be open. */
export function holdsProblem(problem: Problem | undefined, path: string): boolean {
  return problem !== undefined && (problem.field === path || problem.field.startsWith(`${path}.`) || problem.field.startsWith(`${path}[`))
}

/** One line about an item of a list. */
export function summaryOf(value: Json | undefined): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? '' : String(value)
  if (Array.isArray(value)) return `${value.length}`
  const { ip, addr, port, name, key } = value as JsonObject
  const address = typeof addr === 'string' ? addr : typeof ip === 'object' && ip !== null && !Array.isArray(ip) ? String(ip['addr'] ?? '') : ''
  if (address) return port ? `${address}:${String(port)}` : address
  const said = name ?? key ?? port
  if (said !== undefined && said !== null) return String(said)
  return Object.values(value)
    .filter((inner) => typeof inner === 'string' || typeof inner === 'number')
    .slice(0, 3)
    .map((inner) => (typeof inner === 'string' ? (inner.split('#')[1] ?? inner) : String(inner)))
    .join(' ')
}
