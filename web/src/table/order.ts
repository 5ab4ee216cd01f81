export type Key = string | number | undefined

/**
 * Returns rows in order. Rows without a key come last. With keep, rows stay in that order of ids, and new ones come after
 * them.
 */
export function ordered<T>(
  rows: T[],
  id: (row: T) => string,
  key: ((row: T) => Key) | undefined,
  descending: boolean,
  keep?: string[],
): T[] {
  const sorted = key ? sortedBy(rows, id, key, descending) : rows
  if (!keep) return sorted
  const place = new Map(keep.map((one, at) => [one, at]))
  return sorted
    .map((row) => ({ row, place: place.get(id(row)) ?? keep.length }))
    .sort((a, b) => a.place - b.place)
    .map((one) => one.row)
}

/** Asks each row for its key once: there can be thousands of rows. Rows with the same key are in the order of their ids. */
function sortedBy<T>(rows: T[], id: (row: T) => string, key: (row: T) => Key, descending: boolean): T[] {
  return rows
    .map((row) => ({ row, key: key(row), id: id(row) }))
    .sort((a, b) => compare(a.key, b.key, descending) || (a.id < b.id ? -1 : Number(a.id > b.id)))
    .map((one) => one.row)
}

const names = new Intl.Collator('en', { numeric: true })

function compare(a: Key, b: Key, descending: boolean): number {
  if (a === b) return 0
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : names.compare(String(a), String(b))
  return descending ? -order : order
}
