import type { Service } from '../api/types'
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

/** Whether an application profile may have had engines store responses: also while its cache is off, they are kept. */
export function hasCache(profile: JsonObject | undefined): boolean {
  const http = profile?.['http_profile'] as JsonObject | undefined
  return http?.['cache_config'] != null
}

/** Whether ports of a service have application profiles of their own, which may have a cache. */
export function hasOwnProfiles(of: Service): boolean {
  return (of.services ?? []).some((port) => port.override_application_profile_ref !== undefined)
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
export function purgedText(name: string, { uris, prefix }: Purge, isAll: boolean): string {
  if (isAll || !uris) return `service ${name}: all stored responses purged`
  const what = uris.length === 1 ? uris[0] : `${uris.length} URIs`
  return `service ${name}: ${prefix ? `all paths that begin with ${uris.length === 1 ? what : `those of ${what}`}` : what} purged`
}
