import { memo, useLayoutEffect, useRef } from 'react'
import type { Column } from './Table'
import css from './table.module.css'

interface Props<T> {
  row: T
  /** What row it is: the element can get another one. */
  id: string | number | bigint
  columns: Column<T>[]
  index: number
  /** Where the row begins, in px. */
  start: number
  template: string
  measure: ((element: HTMLElement | null) => void) | undefined
  onOpen: ((row: T) => void) | undefined
}

/** A row is made again only if what it shows is another: scrolling moves rows, and makes new ones. */
export const TableRow = memo(Plain) as typeof Plain

function Plain<T>({ row, id, columns, index, start, template, measure, onOpen }: Props<T>) {
  const element = useRef<HTMLDivElement>(null)
  // The element may get another row: what has the focus goes out of sight with its own.
  useLayoutEffect(() => {
    const shown = element.current
    return () => {
      const focused = document.activeElement
      if (focused instanceof HTMLElement && shown?.contains(focused)) focused.blur()
    }
  }, [id])
  return (
    <div
      ref={measure ?? element}
      data-index={index}
      data-row
      data-opens={onOpen !== undefined}
      onClick={onOpen && ((event) => !(event.target as Element).closest('a, button') && !window.getSelection()?.toString() && onOpen(row))}
      role="row"
      aria-rowindex={index + 2}
      className={css.row}
      style={{ gridTemplateColumns: template, transform: `translateY(${start}px)` }}
    >
      {columns.map((column) => (
        <div key={column.key} role="cell" className={column.number ? css.number : css.cell} data-head={column.head} data-wide={column.isWide}>
          <span>{column.cell(row)}</span>
        </div>
      ))}
    </div>
  )
}
