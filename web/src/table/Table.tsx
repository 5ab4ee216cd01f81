import { type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useNarrow } from '../part/useNarrow'
import { setParam, useParam } from '../url/location'
import type { Key } from './order'
import { around, placed, slotOf, slotsFor } from './slots'
import css from './table.module.css'
import { TableRow } from './TableRow'
import { useSteady } from './useSteady'

export interface Column<T> {
  key: string
  head: string
  /** A track of CSS grid, such as "minmax(160px, 2fr)". It does not depend on the content, so that nothing shifts. */
  width: string
  cell: (row: T) => ReactNode
  /** What the column sorts by; missing: it does not sort. */
  sort?: (row: T) => Key
  /** What a saved table has; missing: what the column sorts by. */
  value?: (row: T) => Key
  /** A number, aligned right. The largest comes first when one sorts by it. */
  number?: boolean
  /** On a card, it has a line of its own. */
  isWide?: boolean
  title?: string
}

interface Props<T> {
  label: string
  rows: T[]
  columns: Column<T>[]
  id: (row: T) => string
  /** The order before the reader chooses one: the key of a column, with "-" in front for descending. */
  first: string
  /** A click on a row; the row also has a link or a button that does the same. */
  onOpen?: (row: T) => void
  /** Cells keep nothing but what they show: then a row that comes into sight gets the elements of one that went. */
  isPlain?: boolean
}

const rowHeight = 31
const overscan = 12

/** A table with rows of one height. Only the rows in sight are in the page; under 640 px, rows are cards. */
export function Table<T>({ label, rows, columns, id, first, onOpen, isPlain = false }: Props<T>) {
  const chosen = useParam('sort') || first
  const list = useRef<HTMLDivElement>(null)
  const top = useTop(list)
  const sorted = useSteady(rows, columns, chosen, id)
  const isCards = useNarrow()
  const ids = useRef(id)
  // With another function, the places of all rows would be worked out again.
  const keyOf = useCallback((at: number) => {
    const row = sorted.rows[at]
    return row === undefined ? at : ids.current(row)
  }, [sorted.rows])
  const isReused = isPlain && !isCards
  const [enough, setEnough] = useState(() => slotsFor(window.innerHeight / rowHeight + 2 * overscan))
  const virtual = useWindowVirtualizer({
    count: sorted.rows.length,
    estimateSize: () => rowHeight,
    overscan,
    ...(isReused ? { rangeExtractor: (range: Range) => around(range, enough) } : {}),
    scrollMargin: top,
    useFlushSync: false,
    getItemKey: keyOf,
  })
  const template = scaled(columns.map((column) => column.width).join(' '))
  const open = useRef(onOpen)
  useEffect(() => {
    ids.current = id
    open.current = onOpen
  })
  const [openNow] = useState(() => (row: T) => open.current?.(row))
  // Cards are measured. Rows have one height, also those that were cards before the page became wider.
  useLayoutEffect(() => virtual.measure(), [virtual, isCards])
  // The page can become higher.
  const slots = Math.max(enough, slotsFor((virtual.scrollRect?.height ?? 0) / rowHeight + 2 * overscan))
  if (slots !== enough) setEnough(slots)
  const items = useOrder(virtual.getVirtualItems(), slots, isReused, virtual.isScrolling)
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label={`${label}: rows`}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className={css.table} style={{ minWidth: scaled(`${leastWidth(columns)}px`) }} {...sorted.hold}>
        <div role="row" className={css.head} style={{ gridTemplateColumns: template }} aria-rowindex={1}>
          {columns.map((column) => (
            <Head key={column.key} column={column} chosen={chosen} />
          ))}
        </div>
        <div ref={list} role="rowgroup" className={css.rows} style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = sorted.rows[item.index]
            if (row === undefined) return null
            // Cards have any height, and are measured, which costs a layout each. Rows have one height.
            return <TableRow key={isReused ? slotOf(item, slots) : item.key} row={row} id={item.key} columns={columns} index={item.index} start={item.start - top} template={template} measure={isCards ? virtual.measureElement : undefined} onOpen={onOpen && openNow} />
          })}
        </div>
      </div>
    </div>
  )
}

/**
 * The rows in sight, in the order of their elements. While the page scrolls, no element moves in the page; otherwise they have the
 * order of the rows, which is how the keyboard and programs that read aloud go through them.
 */
function useOrder<T extends { index: number }>(rows: T[], slots: number, isReused: boolean, isScrolling: boolean): T[] {
  const order = useRef<number[]>([])
  useLayoutEffect(() => {
    if (!isScrolling) order.current = rows.map((row) => slotOf(row, slots))
  })
  return isReused && isScrolling ? placed(rows, slots, order.current) : rows
}

/** Where the rows begin on the page, in px. It is asked after a layout: to ask at another time would cost one. */
function useTop(list: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0)
  useEffect(() => {
    const resized = new ResizeObserver(() => setTop(Math.round((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY)))
    resized.observe(document.body)
    return () => resized.disconnect()
  }, [list])
  return top
}

/** Widths for texts of 13 px, as ones that grow with the text: pages of high resolution have a larger one. */
function scaled(widths: string): string {
  return widths.replace(/(\d+)px/g, (_, px: string) => `${(Number(px) / 13).toFixed(3)}rem`)
}

const gap = 8
const padding = 24

/** What the columns need at least. With less room, the table scrolls; with more, long texts get it. */
function leastWidth<T>(columns: Column<T>[]): number {
  return columns.reduce((sum, column) => sum + Number(/\d+/.exec(column.width)?.[0] ?? 0) + gap, padding)
}

function Head<T>({ column, chosen }: { column: Column<T>; chosen: string }) {
  const descending = chosen === `-${column.key}`
  const sorts = descending || chosen === column.key
  const first = column.number ? `-${column.key}` : column.key
  const other = descending ? column.key : `-${column.key}`
  return (
    <div
      role="columnheader"
      aria-sort={sorts ? (descending ? 'descending' : 'ascending') : 'none'}
      className={column.number ? css.number : css.cell}
      title={column.title}
    >
      {column.sort ? (
        <button onClick={() => setParam('sort', sorts ? other : first)}>
          {column.head}
          <span aria-hidden="true">{sorts ? (descending ? ' ↓' : ' ↑') : ''}</span>
        </button>
      ) : (
        column.head
      )}
    </div>
  )
}
