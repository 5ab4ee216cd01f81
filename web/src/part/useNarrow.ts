import { useSyncExternalStore } from 'react'

const narrow = window.matchMedia('(max-width: 640px)')

/** Whether the page is as narrow as that of a phone. The style sheets have the same limit. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener)
      return () => narrow.removeEventListener('change', listener)
    },
    () => narrow.matches,
  )
}
