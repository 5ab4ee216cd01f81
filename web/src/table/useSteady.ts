import { useLayoutEffect, useMemo, useRef } from 'react'
import { ordered } from './order'
import type { Column } from './Table'

/** Sorts rows. While the pointer or the focus is on the table, rows keep their places: nothing moves under the pointer. */
export function useSteady<T>(rows: T[], columns: Column<T>[], chosen: string, id: (row: T) => string) {
  const held = useRef(false)
  const last = useRef<{ chosen: string; ids: string[] }>({ chosen: '', ids: [] })
  const idNow = useRef(id)
  useLayoutEffect(() => {
    idNow.current = id
  })
  // Not again while a table scrolls: thousands of rows take longer than a frame.
  const result = useMemo(() => {
    const column = columns.find((one) => one.key === chosen.replace(/^-/, ''))
    const keep = held.current && last.current.chosen === chosen ? last.current.ids : undefined
    return ordered(rows, idNow.current, column?.sort, chosen.startsWith('-'), keep)
  }, [rows, columns, chosen])
  useLayoutEffect(() => {
    last.current = { chosen, ids: result.map(idNow.current) }
  }, [chosen, result])
  const hold = (now: boolean) => () => {
    held.current = now
  }
  return { rows: result, hold: { onPointerEnter: hold(true), onPointerLeave: hold(false), onFocus: hold(true), onBlur: hold(false) } }
}
