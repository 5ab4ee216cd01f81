import type { JsonObject } from '../api/value'

/** What is purged of a cache: without URIs, all of it. With prefix, all paths that begin with those of the URIs. */
export interface Purge {
  uris?: string[]
  prefix?: true
}

/** What the dialog asks: all, or URIs, one in a line. */
export interface Choice {
  isAll: boolean
  text: string
  isPrefix: boolean
}

export const everything: Choice = { isAll: true, text: '', isPrefix: false }

// The controller takes no more of one request.
const urisMost = 32

/** Whether an application profile has engines store responses. */
export function hasCache(profile: JsonObject | undefined): boolean {
  const http = profile?.['http_profile'] as JsonObject | undefined
  const cache = http?.['cache_config'] as JsonObject | undefined
  return cache?.['enabled'] === true
}

/** What the controller is asked. Error: what is missing. */
export function purgeOf({ isAll, text, isPrefix }: Choice): Purge {
  if (isAll) return {}
  const uris = urisIn(text)
  if (uris.length === 0) throw new Error('Give at least one URI.')
  if (uris.length > urisMost) throw new Error(`These are ${uris.length} URIs, and one request takes ${urisMost}: purge a beginning of paths, or all.`)
  return isPrefix ? { uris, prefix: true } : { uris }
}

/** The URIs of a text, without their schemes: the cache knows hosts and paths. */
export function urisIn(text: string): string[] {
  const all = text.split(/\s+/).filter((word) => word !== '')
  return [...new Set(all.map((uri) => uri.replace(/^https?:\/\//i, '')))]
}

/** What was done. The controller may purge all instead of many URIs. */
export function purgedText(name: string, { uris }: Purge, isAll: boolean): string {
  if (isAll || !uris) return `service ${name}: all stored responses purged`
  return `service ${name}: ${uris.length === 1 ? uris[0] : `${uris.length} URIs`} purged`
}
