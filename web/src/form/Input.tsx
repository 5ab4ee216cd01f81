import { choices } from '../api/words'
import { sensitive } from '../api/value'
import type { FieldProps } from './FieldRow'
import css from './form.module.css'
import { RefPicker } from './RefPicker'
import { defaultText, isLong, typed } from './section'
import { useForm } from './state'

interface Props extends FieldProps {
  id: string
  describedBy?: string
  isWrong?: boolean
  label?: string
}

/** The input for one value: a text, a number, a choice, a reference, a secret, yes or no. */
export function Input(props: Props) {
  const { field, value, onChange, id, describedBy, isWrong, label } = props
  const { isDisabled } = useForm()
  const aria = { id, disabled: isDisabled, 'aria-describedby': describedBy, 'aria-invalid': isWrong || undefined, 'aria-label': label }
  if (field.type === 'boolean') {
    const on = value === undefined ? field.default === true : value === true
    return <input {...aria} type="checkbox" checked={on} onChange={(event) => onChange(event.target.checked)} />
  }
  if (field.ref) return <RefPicker {...props} />
  if (field.secret) return <Secret {...props} />
  if (field.enum) {
    return (
      <select {...aria} value={typeof value === 'string' ? value : ''} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">{`default${defaultText(field) ? `: ${choices(field.enum).find((one) => one.value === field.default)?.text}` : ''}`}</option>
        {choices(field.enum).map((one) => (
          <option key={one.value} value={one.value} title={one.value}>{one.text}</option>
        ))}
        {typeof value === 'string' && value !== '' && !field.enum.includes(value) && <option value={value}>{value}</option>}
      </select>
    )
  }
  const text = value === undefined || value === null ? '' : String(value)
  if (isLong(field, value)) {
    return <textarea {...aria} className={css.long} rows={6} spellCheck={false} value={text} onChange={(event) => onChange(event.target.value || undefined)} />
  }
  const isNumber = field.type === 'integer' || field.type === 'number'
  return (
    <input
      {...aria}
      type="text"
      className={isNumber ? css.number : undefined}
      inputMode={isNumber ? 'decimal' : undefined}
      required={field.required}
      spellCheck={false}
      autoComplete="off"
      placeholder={defaultText(field)}
      value={text}
      onChange={(event) => onChange(typed(field, event.target.value))}
    />
  )
}

/** A secret is written, and never shown. */
function Secret({ field, value, onChange, id, describedBy }: Props) {
  const { isDisabled } = useForm()
  const stored = value === sensitive
  const shared = { id, disabled: isDisabled, 'aria-describedby': describedBy, autoComplete: 'new-password', spellCheck: false, placeholder: stored ? 'stored; type to replace it' : '' }
  const text = stored || value === undefined ? '' : String(value)
  if (isLong(field, stored ? '' : value)) return <textarea {...shared} className={css.long} rows={4} value={text} onChange={(event) => onChange(event.target.value || undefined)} />
  return <input {...shared} type="password" value={text} onChange={(event) => onChange(event.target.value || undefined)} />
}
