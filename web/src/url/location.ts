// The URL is the whole state of a page: whoever opens it sees the same.
import { createContext, createElement, type ReactNode, useContext, useDeferredValue, useLayoutEffect, useMemo, useSyncExternalStore } from 'react'
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

interface Where {
  path: string
  params: URLSearchParams
}

const Shown = createContext<Where>({ path: '/', params: new URLSearchParams() })

// The next page begins at its top. Scrolling waits for that page: the one before stays where it is.
let fromTop = false

/**
 * Gives pages the URL that they show. It follows that of the window as soon as there is time: a click is painted before the page
 * behind it is made, and the page before stays until then.
 */
export function Located({ children }: { children: ReactNode }) {
  const href = useDeferredValue(useHref())
  const where = useMemo(() => {
    const url = new URL(href, window.location.origin)
    return { path: url.pathname, params: url.searchParams }
  }, [href])
  useLayoutEffect(() => {
    if (fromTop) window.scrollTo(0, 0)
    fromTop = false
  }, [where.path])
  return createElement(Shown, { value: where }, children)
}

/** The URL of the window: what was pressed last, though the page may not be there yet. */
function useHref(): string {
  return useSyncExternalStore(subscribe, () => window.location.pathname + window.location.search)
}

/** The path that was pressed last. */
export function usePressedPath(): string {
  return useSyncExternalStore(subscribe, () => window.location.pathname)
}

/** The path of the page that is shown. */
export function usePath(): string {
  return useContext(Shown).path
}

/** Goes to a page of Weir. The tenant, the range of time, the zone, and whether charts show what is usual stay the same. */
export function go(path: string, as: 'push' | 'replace' = 'push') {
  fromTop = window.scrollY > 0
  window.history[as === 'push' ? 'pushState' : 'replaceState'](null, '', keeping(path))
  tell()
}

/** Goes where the user wants to, unless the user wants to keep what is not saved. */
export function visit(path: string) {
  if (mayLeave()) go(path)
}

const kept = ['tenant', 'from', 'to', 'zone', 'usual']

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
  return useContext(Shown).params.get(name) ?? ''
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
