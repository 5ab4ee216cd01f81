// The URL is the whole state of a page: whoever opens it sees the same.
import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
window.addEventListener('popstate', tell)

function tell() {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => window.location.pathname)
}

/** Goes to a page of Weir. The tenant stays the same. */
export function go(path: string) {
  window.history.pushState(null, '', keepingTenant(path))
  window.scrollTo(0, 0)
  tell()
}

export function keepingTenant(path: string): string {
  const tenant = new URLSearchParams(window.location.search).get('tenant')
  const url = new URL(path, window.location.origin)
  if (tenant && !url.searchParams.has('tenant')) url.searchParams.set('tenant', tenant)
  return url.pathname + url.search
}

export function useParam(name: string): string {
  return useSyncExternalStore(subscribe, () => new URLSearchParams(window.location.search).get(name) ?? '')
}

/** Changes one part of the state; an empty value removes it. */
export function setParam(name: string, value: string, as: 'replace' | 'push' = 'replace') {
  const url = new URL(window.location.href)
  if (value) url.searchParams.set(name, value)
  else url.searchParams.delete(name)
  const method = as === 'push' ? 'pushState' : 'replaceState'
  window.history[method](null, '', url.pathname + url.search)
  tell()
}
