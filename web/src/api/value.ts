// Objects as JSON: paths such as servers[0].port, and what differs between two of them. No I/O.

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json | undefined
}

export const sensitive = '<sensitive>'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => same(item, b[at]))
  if (!isObject(a) || !isObject(b)) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => same(a[name], b[name]))
}

export interface Difference {
  path: string
  /** undefined: it was not there. */
  before: Json | undefined
  after: Json | undefined
}

// What the controller sets with each write, and what says nothing about it.
const unsaid = new Set(['_last_modified', 'url', 'weir_warnings', 'weir_created', 'runtime'])

/** Lists what differs between two objects, at most `most` places, in the order of their fields. */
export function differences(before: Json | undefined, after: Json | undefined, most = 200): Difference[] {
  const found: Difference[] = []
  compare('', before, after, found, most)
  return found
}

function compare(path: string, before: Json | undefined, after: Json | undefined, found: Difference[], most: number) {
  if (found.length >= most || same(before, after)) return
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (path !== '' || !unsaid.has(name)) compare(path ? `${path}.${name}` : name, before[name], after[name], found, most)
    }
    return
  }
  if (Array.isArray(before) && Array.isArray(after) && [...before, ...after].some(isObject)) {
    for (let at = 0; at < Math.max(before.length, after.length); at++) compare(`${path}[${at}]`, before[at], after[at], found, most)
    return
  }
  if (path === '' && (before === undefined || after === undefined)) {
    const side = before ?? after
    for (const name of Object.keys(isObject(side) ? side : {})) {
      if (!unsaid.has(name)) compare(name, isObject(before) ? before[name] : undefined, isObject(after) ? after[name] : undefined, found, most)
    }
    return
  }
  found.push({ path, before, after })
}

/**
 * Puts the fields that differ between base and mine over theirs. Only top-level fields: a list or an object is taken as
 * a whole, so that nothing is mixed that nobody has seen together.
 */
export function mergeOver(base: JsonObject, mine: JsonObject, theirs: JsonObject): JsonObject {
  const merged = { ...theirs }
  for (const name of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (unsaid.has(name) || same(base[name], mine[name])) continue
    if (mine[name] === undefined) delete merged[name]
    else merged[name] = mine[name]
  }
  return merged
}

/** Tells whether an object has a secret that nobody can read. */
export function hasSecret(value: Json | undefined): boolean {
  if (value === sensitive) return true
  if (Array.isArray(value)) return value.some(hasSecret)
  return isObject(value) && Object.values(value).some(hasSecret)
}

/** Tells whether a write sets a secret: the one before is hidden, so that it cannot come back. */
export function changesSecret(before: JsonObject | undefined, next: JsonObject): boolean {
  return Object.entries(before ?? {}).some(([, value]) => hasSecret(value)) && !same(secretsOf(before), secretsOf(next))
}

function secretsOf(value: unknown, path = ''): string[] {
  if (value === sensitive) return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => secretsOf(inner, `${path}.${name}`))
}

/** A value in words, for tables. */
export function shortly(value: Json | undefined): string {
  if (value === undefined) return '–'
  if (typeof value === 'string') {
    const name = /\/api\/[^#]+#(.+)$/.exec(value)?.[1]
    return name ?? (value === '' ? '""' : value)
  }
  if (!isObject(value)) return JSON.stringify(value)
  return leaves(value).join('\n') || JSON.stringify(value)
}

/** What an object says, a line for each value: without what is false, empty or zero. */
function leaves(value: JsonObject, within = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = `${within}${name}`
    if (isObject(inner)) return leaves(inner, `${path}.`)
    return inner === undefined || inner === null || inner === false || inner === '' || inner === 0 ? [] : [`${path}: ${shortly(inner)}`]
  })
}
