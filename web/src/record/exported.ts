// Reads all records that a search finds, page by page, and makes a file of them.
import type { Kind } from '../api/fields'
import { type Cell, csv } from '../part/save'
import type { Answer, Entry } from './ask'
import { text } from './sentence'

/** The API lists the first 100,000 records of a search, in pages of at most 10,000. */
export const exportMost = 100_000
export const exportPage = 10_000

export type Format = 'csv' | 'json'

export interface Exported {
  text: string
  saved: number
  /** How many the search finds. */
  count: number
  /** How much of the range of time was not read, in percent. */
  percentUnread: number
}

/** Reads pages until the search has no more, or the limit is reached. onRead is told after each page. */
export async function exported(kind: Kind, format: Format, read: (page: number) => Promise<Answer<Entry>>, onRead: (saved: number, count: number) => void): Promise<Exported> {
  const file = format === 'csv' ? csvFile(kind) : jsonFile()
  const seen = new Set<string>() // what arrives meanwhile moves records to the next page
  let count = 0
  let percentUnread = 0
  for (let page = 1; page <= exportMost / exportPage; page++) {
    const answer = await read(page)
    count = answer.count
    percentUnread = Math.max(percentUnread, answer.percent_remaining)
    for (const entry of answer.results) {
      const id = text(entry, 'request_id') || JSON.stringify(entry)
      if (seen.has(id)) continue
      seen.add(id)
      file.add(entry)
    }
    onRead(seen.size, count)
    if (answer.results.length < exportPage) break
  }
  return { text: file.text(), saved: seen.size, count: Math.max(count, seen.size), percentUnread }
}

interface File {
  add: (entry: Entry) => void
  text: () => string
}

/** All fields that one of the records has. */
function csvFile(kind: Kind): File {
  const names = ['report_timestamp', ...kind.fields.map((field) => field.field)]
  const used = new Set(['report_timestamp'])
  const rows: Cell[][] = []
  return {
    add(entry) {
      rows.push(names.map((name): Cell => {
        const value = entry[name]
        const cell = typeof value === 'number' ? value : text(entry, name)
        if (cell !== '') used.add(name)
        return cell
      }))
    },
    text() {
      const kept = names.flatMap((name, at) => (used.has(name) ? [at] : []))
      return csv(kept.map((at) => names[at] ?? ''), rows.map((row) => kept.map((at) => row[at])))
    },
  }
}

function jsonFile(): File {
  const parts: string[] = []
  return { add: (entry) => parts.push(JSON.stringify(entry)), text: () => `[\n${parts.join(',\n')}\n]\n` }
}

/** What the page says of a file. */
export function saysExported({ saved, count, percentUnread }: Exported, write: (count: number) => string): string {
  const of = saved >= count ? `all ${write(saved)}` : `the newest ${write(saved)} of ${write(count)}`
  const limit = saved >= exportMost && saved < count ? `: a file has at most ${write(exportMost)}` : ''
  return `Saved ${of} records that the search finds${limit}.${percentUnread > 0 ? ` Only ${(100 - percentUnread).toFixed(0)} % of the range was read in time: the newest.` : ''}`
}
