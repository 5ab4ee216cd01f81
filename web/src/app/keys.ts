import { useEffect, useRef } from 'react'
import { visit, paramOf, setParam } from '../url/location'
import { entries, others } from './routes'

const afterGMs = 1500

/** All keys, as the page of keys lists them. */
export const keys: [string, string][] = [
  ['Ctrl K or ⌘ K', 'Go to any page, service, pool or engine'],
  ['/', 'Filter the list of this page'],
  ['j, k', 'Next row, previous row'],
  ['Enter', 'Open the row'],
  ...[...entries, ...others].flatMap((entry): [string, string][] => (entry.key ? [[`g ${entry.key}`, entry.name]] : [])),
  ['u', 'Times in UTC, or in the zone of the browser'],
  ['?', 'This list'],
]

/** Listens to the keys that work on every page. */
export function useKeys({ palette, help }: { palette: () => void; help: () => void }) {
  const afterG = useRef(0)
  const act = useRef({ palette, help })
  useEffect(() => {
    act.current = { palette, help }
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        act.current.palette()
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (single(event.key, afterG.current, act.current)) event.preventDefault()
      afterG.current = event.key === 'g' ? event.timeStamp + afterGMs : 0
      if (afterG.current) return
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

function single(key: string, afterGUntil: number, act: { palette: () => void; help: () => void }): boolean {
  if (afterGUntil > performance.now()) {
    const entry = [...entries, ...others].find((one) => one.key === key)
    if (entry) visit(entry.path)
    return entry !== undefined
  }
  switch (key) {
    case '?':
      act.help()
      return true
    case 'u':
      setParam('zone', paramOf('zone') ? '' : 'utc')
      return true
    case '/':
      document.querySelector<HTMLInputElement>('[data-filter]')?.focus()
      return document.querySelector('[data-filter]') !== null
    case 'j':
      return step(1)
    case 'k':
      return step(-1)
  }
  return false
}

/** Moves the focus to the link of the next row that has one. */
function step(by: 1 | -1): boolean {
  const links = [...document.querySelectorAll<HTMLElement>('[data-row]')]
    .toSorted((a, b) => Number(a.dataset['index']) - Number(b.dataset['index']))
    .map((row) => row.querySelector<HTMLElement>('a, [data-open]'))
    .filter((link) => link !== null)
  const at = links.findIndex((link) => link === document.activeElement)
  const next = links[at < 0 ? 0 : at + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
  return next !== undefined
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.closest('input, textarea, select, [role="dialog"], [role="menu"]') !== null || target.isContentEditable)
}
