import { type InputHTMLAttributes, type ReactNode, useId } from 'react'
import form from '../form/form.module.css'

type Props = InputHTMLAttributes<HTMLInputElement> & { label: string; note?: ReactNode; problem?: string | undefined }

/** A line of a form: name, input, note, what is wrong. */
export function Text({ label, note, problem, ...rest }: Props) {
  const id = useId()
  return (
    <div className={form.row}>
      <label htmlFor={id}>{label}</label>
      <div>
        <input id={id} type="text" spellCheck={false} aria-describedby={`${id}-note`} aria-invalid={problem ? true : undefined} {...rest} />
        <p id={`${id}-note`} className={form.note}>
          {problem && <span role="alert" className={form.wrong}>{problem}</span>}
          {note && <span>{note}</span>}
        </p>
      </div>
    </div>
  )
}
