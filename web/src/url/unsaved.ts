// Whether somebody has typed something that is not saved. Then a session that ends leaves the page behind the login.
import { useEffect } from 'react'

let forms = 0

export function hasUnsaved(): boolean {
  return forms > 0
}

/** Tells whether the page may be left: asks, if something would be lost. */
export function mayLeave(): boolean {
  return forms === 0 || window.confirm('You have changes that are not saved. Leave them?')
}

/** Asks before the tab is closed with changes that are not saved. */
export function useUnsaved(isChanged: boolean) {
  useEffect(() => {
    if (!isChanged) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    forms++
    window.addEventListener('beforeunload', ask)
    return () => {
      forms--
      window.removeEventListener('beforeunload', ask)
    }
  }, [isChanged])
}
