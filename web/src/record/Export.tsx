import { type RefObject, useEffect, useRef, useState } from 'react'
import { useTenant } from '../api/useData'
import { More } from '../part/More'
import { fileName, save } from '../part/save'
import { whole } from '../time/format'
import { boundsOf } from '../time/range'
import { pageOf, type Question } from './ask'
import { exported, exportMost, type Format, saysExported } from './exported'
import css from './record.module.css'

/** What is being saved, or was: "Reading…", or how many of how many are in the file. */
export interface Saving {
  says: string
  isBusy: boolean
}

/** Saves all that a search finds, up to a limit. */
export function ExportMenu({ question, of, isBusy, onSaving, running }: { question: Question; of: string; isBusy: boolean; onSaving: (saving: Saving) => void; running: RefObject<AbortController | undefined> }) {
  const tenant = useTenant()
  const begin = (format: Format) => {
    if (isBusy) return
    const stop = new AbortController()
    running.current = stop
    void saveAll(format, question, of, tenant, stop.signal, onSaving)
  }
  const limit = `up to ${whole(exportMost)}`
  return <More of="Records" items={[{ name: `Save as CSV, ${limit}`, does: () => begin('csv') }, { name: `Save as JSON, ${limit}`, does: () => begin('json') }]} />
}

async function saveAll(format: Format, question: Question, of: string, tenant: string, signal: AbortSignal, onSaving: (saving: Saving) => void) {
  const { kind, range } = question
  const now = Date.now()
  // All pages are of one range, which does not move.
  const fixed = { ...question, range: { kind: 'fixed' as const, ...boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: kind.liveS } : range, now) } }
  onSaving({ says: 'Reading the records…', isBusy: true })
  try {
    const made = await exported(kind, format, (page) => pageOf(fixed, page, { tenant, signal }), (read, count) => onSaving({ says: `Read ${whole(read)} of ${whole(count)} records…`, isBusy: true }))
    if (signal.aborted) return
    save(fileName(`${of} ${kind.name}`, format), format === 'csv' ? 'text/csv' : 'application/json', made.text)
    onSaving({ says: saysExported(made, whole), isBusy: false })
  } catch (error) {
    if (signal.aborted) onSaving({ says: 'Stopped: nothing was saved.', isBusy: false })
    else onSaving({ says: `Nothing was saved: ${error instanceof Error ? error.message : String(error)}`, isBusy: false })
  }
}

/** Tells how a file is getting on. */
export function useSaving() {
  const [saving, setSaving] = useState<Saving>({ says: '', isBusy: false })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const line = saving.says === '' ? null : (
    <p className={css.saving} role="status">
      {saving.says}
      {saving.isBusy && <button onClick={() => running.current?.abort()}>Stop</button>}
    </p>
  )
  return { saving, setSaving, running, line }
}
