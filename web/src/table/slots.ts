// Which element of the page shows which row. An element whose row goes out of sight at one end is used for the row that comes
// into sight at the other one: to change texts takes less time than to make elements.

/** How many elements show so many rows: some more, since their number changes a little while the page scrolls. */
export function slotsFor(rows: number): number {
  const step = 8
  return Math.ceil((rows + 2) / step) * step
}

/** The rows that have an element: as many as there are elements, with those in sight in their middle. More, if more are in sight. */
export function around(sight: { startIndex: number; endIndex: number; count: number }, slots: number): number[] {
  const { startIndex, endIndex, count } = sight
  const inSight = endIndex - startIndex + 1
  const most = Math.min(count, Math.max(slots, inSight))
  const first = Math.max(0, Math.min(startIndex - Math.floor((most - inSight) / 2), count - most))
  return Array.from({ length: most }, (_, at) => first + at)
}

/** The number of the element of a row. Rows that follow each other, no more than there are elements, have one each. */
export function slotOf(row: { index: number }, slots: number): number {
  return row.index % slots
}

/** Rows in the order that their elements have in the page. Elements that are not in it come last. */
export function placed<T extends { index: number }>(rows: T[], slots: number, order: number[]): T[] {
  const places = new Map(order.map((slot, at) => [slot, at]))
  const place = (row: T) => places.get(slotOf(row, slots)) ?? order.length
  return rows.toSorted((a, b) => place(a) - place(b))
}
