import { useEffect, useState } from 'react'
import { type Change, dismissChange, useLastChange } from '../api/changes'
import { revealText } from '../api/reveal'
import type { Applied } from '../api/types'
import { useData } from '../api/useData'
import css from './change.module.css'

const everyMs = 500
const patienceMs = 60_000
const laterMs = 5000 // an engine that is away can take long

type Progress = Applied & { considered: boolean; virtual_services?: number }

/** The last change: saved, then on how many engines it is in force, and a way back. */
export function SavedBar() {
  const change = useLastChange()
  useEffect(() => dismissChange, []) // the next user has not done it
  return (
    <div aria-live="polite" className={css.place}>
      {change && (change.problem ? <Problem key={change.key} text={change.problem} /> : <Bar key={change.key} change={change} />)}
    </div>
  )
}

function Problem({ text }: { text: string }) {
  return (
    <section className={`${css.bar} ${css.failed}`} aria-label="Last change">
      <p>
        <span role="alert" className={css.wrong}>{`Nothing was changed: ${revealText(text)}`}</span>
        <span className={css.buttons}>
          <button onClick={dismissChange} aria-label="Dismiss">✕</button>
        </span>
      </p>
    </section>
  )
}

function Bar({ change }: { change: Change }) {
  const [done, setDone] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [born] = useState(Date.now)
  const beside = change.uuid ? `&kind=${change.kind}&uuid=${change.uuid}` : ''
  const progress = useData<Progress>(change.revision && !done ? `/api/weir/applied?revision=${change.revision}${beside}` : null, Date.now() - born < patienceMs ? everyMs : laterMs)
  const said = progress.value && saidOf(progress.value, change)
  if (said?.isLast && !done) setDone(said.text)
  const undo = async () => {
    setBusy(true)
    try {
      await change.undo?.()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
  }
  return (
    <section className={css.bar} aria-label="Last change">
      <p>
        <b>{revealText(change.text)}</b>
        <span className={css.steps}>
          <span data-look="good">saved</span>
          {(done || said || progress.error) && <span aria-hidden="true">→</span>}
          <span data-applied={done !== ''}>{done || said?.text || progress.error?.message}</span>
        </span>
        <span className={css.buttons}>
          {change.undo && <button onClick={() => void undo()} disabled={isBusy}>Undo</button>}
          <button onClick={dismissChange} aria-label="Dismiss">✕</button>
        </span>
      </p>
      {problem && <p role="alert" className={css.wrong}>{`Not undone: ${problem}`}</p>}
      {change.why && <p className={css.dim}>{change.why}</p>}
      {change.warnings.length > 0 && (
        <ul className={css.warnings}>
          {change.warnings.map((warning) => (
            <li key={warning}>{revealText(warning)}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

function saidOf(progress: Progress, change: Change): { text: string; isLast: boolean } {
  const { considered, engines_applied: applied, engines_total: total, refusals } = progress
  const refused = refusals[0]
  if (refused) return { text: `${refused.engine} refused it and goes on as before: ${refused.errors[0]?.message ?? ''}`, isLast: false }
  if (!considered) return { text: 'the controller makes Plans', isLast: false }
  if (total > 0) return { text: progress.text, isLast: applied === total }
  if (change.uuid && change.kind === 'virtualservice') return { text: 'no engine serves it yet', isLast: false }
  return { text: 'no engine needs it', isLast: true }
}
