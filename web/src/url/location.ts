// The URL is the whole state of a page: whoever opens it sees the same.
import { useSyncExternalStore } from 'react'
import { mayLeave } from './unsaved'

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

/** Goes to a page of Weir. The tenant, the range of time and the zone stay the same. */
export function go(path: string, as: 'push' | 'replace' = 'push') {
  window.history[as === 'push' ? 'pushState' : 'replaceState'](null, '', keeping(path))
  window.scrollTo(0, 0)
  tell()
}

/** Goes where the user wants to, unless the user wants to keep what is not saved. */
export function visit(path: string) {
  if (mayLeave()) go(path)
}

const kept = ['tenant', 'from', 'to', 'zone']

/** Adds to a path what stays the same from page to page, unless the path has it. A range is kept or replaced as a whole. */
export function keeping(path: string): string {
  const now = new URLSearchParams(window.location.search)
  const url = new URL(path, window.location.origin)
  const ranged = url.searchParams.has('from')
  for (const name of kept) {
    const value = now.get(name)
    if (!value || url.searchParams.has(name) || (ranged && name === 'to')) continue
    url.searchParams.set(name, value)
  }
  return url.pathname + url.search
}

export function useParam(name: string): string {
  return useSyncExternalStore(subscribe, () => paramOf(name))
}

export function paramOf(name: string): string {
  return new URLSearchParams(window.location.search).get(name) ?? ''
}

/** Changes one part of the state; an empty value removes it. */
export function setParam(name: string, value: string, as: 'replace' | 'push' = 'replace') {
  setParams({ [name]: value }, as)
}

/** Changes several parts of the state at once. */
export function setParams(values: Record<string, string>, as: 'replace' | 'push' = 'replace') {
  const url = new URL(window.location.href)
  for (const [name, value] of Object.entries(values)) {
    if (value) url.searchParams.set(name, value)
    else url.searchParams.delete(name)
  }
  const method = as === 'push' ? 'pushState' : 'replaceState'
  window.history[method](null, '', url.pathname + url.search)
  tell()
}
