// Gives the reader a file of what a page shows.

export type Cell = string | number | null | undefined

/** Writes rows as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(heads: string[], rows: Cell[][]): string {
  return [heads, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Has the browser save a file. */
export function save(name: string, type: 'text/csv' | 'application/json', text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** "shop latency 2026-11-26T14-02-11Z.csv", with no character that a file system minds. */
export function fileName(what: string, ending: string, nowMs = Date.now()): string {
  const stamp = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  return `${what} ${stamp}`.replace(/[^\p{L}\p{N}._ -]/gu, '-').slice(0, 120) + `.${ending}`
}
