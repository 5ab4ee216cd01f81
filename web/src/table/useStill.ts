import { useState, useSyncExternalStore } from 'react'

// A frame has 16 ms. While the page scrolls, rows that come into sight take them; what comes each second waits.
const stillMs = 200

let moving = false
let last = 0
const listeners = new Set<() => void>()

function tell(now: boolean) {
  moving = now
  for (const listener of listeners) listener()
}

function look() {
  const rest = last + stillMs - performance.now()
  if (rest > 0) window.setTimeout(look, rest)
  else tell(false)
}

function scrolled() {
  last = performance.now()
  if (moving) return
  tell(true)
  window.setTimeout(look, stillMs)
}

function subscribe(listener: () => void) {
  if (listeners.size === 0) window.addEventListener('scroll', scrolled, { passive: true })
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('scroll', scrolled)
  }
}

/** Whether the page scrolls, or did a moment ago. */
export function useMoving(): boolean {
  return useSyncExternalStore(subscribe, () => moving)
}

/** A value that does not change while the page scrolls. */
export function useStill<T>(value: T): T {
  const isMoving = useMoving()
  const [still, setStill] = useState(value)
  const isKept = isMoving && still !== undefined
  if (!isKept && still !== value) setStill(() => value)
  return isKept ? still : value
}
