import { useSyncExternalStore } from 'react'

const narrow = window.matchMedia('(max-width: 640px)')

/** Whether the rows of tables are cards, as table.module.css has it. */
export function useCards(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener)
      return () => narrow.removeEventListener('change', listener)
    },
    () => narrow.matches,
  )
}
