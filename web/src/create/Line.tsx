import { type ReactNode, useId } from 'react'
import form from '../form/form.module.css'

interface Props {
  name: string
  note?: ReactNode
  problem?: string | undefined
  /** Gets what ties the input to its name and notes. */
  children: (ties: { id: string; 'aria-describedby': string; 'aria-invalid': true | undefined }) => ReactNode
}

/** An input with its name, a note and what is wrong with it. */
export function Line({ name, note, problem, children }: Props) {
  const id = useId()
  return (
    <div className={form.row}>
      <label htmlFor={id}>{name}</label>
      <div>
        {children({ id, 'aria-describedby': `${id}-note`, 'aria-invalid': problem ? true : undefined })}
        <p id={`${id}-note`} className={form.note}>
          {problem && <span role="alert" className={form.wrong}>{problem}</span>}
          {note && <span>{note}</span>}
        </p>
      </div>
    </div>
  )
}

interface ChoiceProps<T extends string> {
  name: string
  value: T
  of: { value: T; text: string; says?: string }[]
  onChange: (value: T) => void
  problem?: string | undefined
  children?: ReactNode
}

/** One of a few, all in sight. */
export function Choice<T extends string>({ name, value, of, onChange, problem, children }: ChoiceProps<T>) {
  const id = useId()
  return (
    <fieldset className={form.row}>
      <legend>{name}</legend>
      <div>
        <div className={form.choices}>
          {of.map((one) => (
            <label key={one.value} title={one.says}>
              <input type="radio" name={id} value={one.value} checked={one.value === value} onChange={() => onChange(one.value)} />
              {one.text}
            </label>
          ))}
        </div>
        {children}
        <p className={form.note}>{problem && <span role="alert" className={form.wrong}>{problem}</span>}</p>
      </div>
    </fieldset>
  )
}
