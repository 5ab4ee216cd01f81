import { useMemo } from 'react'
import type { Named } from '../api/types'
import { nameOf, uuidOf } from '../api/types'
import { useList } from '../api/useData'
import { revealText } from '../api/reveal'
import type { FieldProps } from './FieldRow'
import { keeping } from '../url/location'
import css from './form.module.css'
import { defaultText } from './section'
import { useForm } from './state'

const everyMs = 30_000

interface Props extends FieldProps {
  id: string
  describedBy?: string
  isWrong?: boolean
  label?: string
}

/** Chooses an object of another kind by its name. */
export function RefPicker({ field, value, onChange, id, describedBy, isWrong, label }: Props) {
  const { isDisabled } = useForm()
  const kind = field.ref ?? ''
  const list = useList<Named>(`/api/${kind}?fields=name`, everyMs)
  const reference = typeof value === 'string' ? value : ''
  const chosen = chosenOf(reference, list.value?.results ?? [])
  const options = useMemo(() => (list.value?.results ?? []).toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true })), [list.value])
  const isKnown = options.some((one) => one.uuid === chosen)
  const otherwise = defaultText(field)
  return (
    <span className={css.ref}>
      <select id={id} disabled={isDisabled} aria-describedby={describedBy} aria-invalid={isWrong || undefined} aria-label={label} value={chosen} onChange={(event) => onChange(event.target.value ? `/api/${kind}/${event.target.value}` : undefined)}>
        <option value="">{otherwise ? `default: ${otherwise}` : 'none'}</option>
        {!isKnown && chosen !== '' && <option value={chosen}>{revealText(nameOf(reference)) || chosen}</option>}
        {options.map((one) => (
          <option key={one.uuid} value={one.uuid}>{one.name}</option>
        ))}
      </select>
      <span className={css.beside}>
        {chosen !== '' && <a href={keeping(`/objects/${kind}/${chosen}`)} target="_blank" rel="noreferrer">Open it</a>}
        <a href={keeping(`/objects/${kind}/new`)} target="_blank" rel="noreferrer">New one</a>
      </span>
      {list.error && <small className={css.wrong}>{`The list could not be read: ${list.error.message}`}</small>}
    </span>
  )
}

/** The uuid that a reference means: it may be by name, ?name=web. */
function chosenOf(reference: string, known: Named[]): string {
  const name = /\?name=([^&#]*)/.exec(reference)?.[1]
  if (name === undefined) return uuidOf(reference)
  return known.find((one) => one.name === decodeURIComponent(name))?.uuid ?? ''
}
