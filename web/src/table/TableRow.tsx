import { memo } from 'react'
import type { Column } from './Table'
import css from './table.module.css'

interface Props<T> {
  row: T
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

function Plain<T>({ row, columns, index, start, template, measure, onOpen }: Props<T>) {
  return (
    <div
      ref={measure}
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
