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
  const sorted = key ? rows.toSorted((a, b) => compare(key(a), key(b), descending) || compare(id(a), id(b), false)) : rows
  if (!keep) return sorted
  const place = new Map(keep.map((one, at) => [one, at]))
  return sorted.toSorted((a, b) => (place.get(id(a)) ?? Infinity) - (place.get(id(b)) ?? Infinity) || 0)
}

const names = new Intl.Collator('en', { numeric: true })

function compare(a: Key, b: Key, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : names.compare(String(a), String(b))
  return descending ? -order : order
}
