import { useState } from 'react'
import type { Json } from '../api/value'
import type { FieldProps } from './FieldRow'
import css from './form.module.css'
import { useForm } from './state'

/** A value as JSON, for fields that no part of Weir reads. */
export function JsonInput({ value, onChange, id, describedBy }: FieldProps & { id: string; describedBy?: string }) {
  const { isDisabled } = useForm()
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [problem, setProblem] = useState('')
  const change = (next: string) => {
    setText(next)
    try {
      onChange(next.trim() === '' ? undefined : (JSON.parse(next) as Json))
      setProblem('')
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      <textarea id={id} disabled={isDisabled} aria-describedby={describedBy} aria-invalid={problem !== '' || undefined} className={css.long} rows={Math.min(10, text.split('\n').length + 1)} spellCheck={false} value={text} placeholder="JSON" onChange={(event) => change(event.target.value)} />
      {problem && <small className={css.wrong} role="alert">{problem}</small>}
    </>
  )
}
