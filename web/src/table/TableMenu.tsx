import { More } from '../part/More'
import { type Cell, csv, fileName, save } from '../part/save'
import type { Column } from './Table'

/** Saves what a table shows. */
export function TableMenu<T>({ of, rows, columns }: { of: string; rows: T[]; columns: Column<T>[] }) {
  const shown = columns.filter((column) => column.value ?? column.sort)
  const cellsOf = (row: T): Cell[] => shown.map((column) => (column.value ?? column.sort)?.(row))
  const objects = () => rows.map((row) => Object.fromEntries(cellsOf(row).map((cell, at) => [shown[at]?.head, cell ?? null])))
  return (
    <More
      of={of}
      items={[
        { name: 'Save as CSV', does: () => save(fileName(of, 'csv'), 'text/csv', csv(shown.map((column) => column.head), rows.map(cellsOf))) },
        { name: 'Save as JSON', does: () => save(fileName(of, 'json'), 'application/json', JSON.stringify(objects(), null, 1)) },
      ]}
    />
  )
}
