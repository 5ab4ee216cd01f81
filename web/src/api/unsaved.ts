// Whether somebody has typed something that is not saved. Then a session that ends leaves the page behind the login.
import { useEffect } from 'react'

let forms = 0

export function hasUnsaved(): boolean {
  return forms > 0
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
