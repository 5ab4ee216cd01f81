import { type ReactNode, useId, useState } from 'react'
import { tellProblem } from '../api/changes'
import { type Kind, useKinds } from '../api/schema'
import { Link } from '../url/Link'
import css from './change.module.css'
import { Confirm } from './Confirm'

/** What the user may do with objects of a kind; undefined: not known yet. */
export function useMay(kind: string): Kind | undefined {
  return useKinds().value?.results.find((one) => one.name === kind)
}

interface Props {
  kind: string
  /** What the user must be allowed to do; missing: change. */
  needs?: 'may_create' | 'may_change' | 'may_delete'
  does: () => Promise<unknown>
  isDangerous?: boolean
  /** Why the user may not, where the kind alone does not decide; empty: the user may; missing: the kind decides. */
  lacks?: string
  /** Asked first; missing: nothing is asked. */
  asks?: { title: string; text: ReactNode }
  children: string
}

/** A button that changes something. Who may not press it sees it, and who may. */
export function Act({ kind, needs = 'may_change', does, isDangerous = false, lacks, asks, children }: Props) {
  const may = useMay(kind)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const id = useId()
  const isAllowed = lacks === undefined ? (may?.[needs] ?? false) : lacks === ''
  const why = lacks ?? (may && !isAllowed ? (may.why_not ?? 'Nobody may.') : '')
  const press = async (button: HTMLElement) => {
    // A row of a table has no room for a sentence.
    const tell = button.closest('[data-row]') ? tellProblem : setProblem
    if (!may && lacks === undefined) return tell('The page does not know yet what you may do. Press again in a moment.')
    if (!isAllowed) return tell(why)
    if (asks) return setAsking(true)
    setBusy(true)
    setProblem('')
    try {
      await does()
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
  }
  return (
    <>
      <button type="button" className={isDangerous ? css.danger : undefined} disabled={isBusy} aria-disabled={!isAllowed || undefined} aria-describedby={problem ? id : undefined} title={why || undefined} onClick={(event) => void press(event.currentTarget)}>
        {children}
      </button>
      {problem && <span id={id} role="alert" className={css.wrong}>{problem}</span>}
      {asks && isAsking && (
        <Confirm title={asks.title} does={children} isDangerous={isDangerous} onClose={() => setAsking(false)} onConfirm={async () => void (await does())}>
          <p>{asks.text}</p>
        </Confirm>
      )}
    </>
  )
}

/** Buttons beside each other. */
export function Actions({ children }: { children: ReactNode }) {
  return <span className={css.actions}>{children}</span>
}

/** A link to where one changes something; who may not, sees who may. */
export function ActLink({ kind, needs = 'may_change', to, children }: { kind: string; needs?: Props['needs']; to: string; children: string }) {
  const may = useMay(kind)
  if (may && !may[needs]) {
    return <button type="button" aria-disabled="true" title={may.why_not}>{children}</button>
  }
  return <Link to={to}>{children}</Link>
}
