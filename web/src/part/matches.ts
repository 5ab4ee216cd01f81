/** Tells whether the texts of a row contain every word of a filter, in any case. */
export function matches(filter: string, texts: (string | undefined)[]): boolean {
  if (filter === '') return true
  const all = texts.join('\n').toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}
