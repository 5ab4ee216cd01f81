import { useState } from 'react'
import { labelOf } from '../api/words'
import { isObject, type Json } from '../api/value'
import { revealText } from '../api/reveal'
import { type FieldProps, ObjectFields } from './FieldRow'
import css from './form.module.css'
import { Input } from './Input'
import { emptyOf, holdsProblem, problemAt, summaryOf } from './section'
import { useForm } from './state'

const shownAtFirst = 30

/** A list: of values one row each, of objects one card each. */
export function ListInput({ field, path, value, onChange }: FieldProps) {
  const { isDisabled } = useForm()
  const [shown, setShown] = useState(shownAtFirst)
  const items = Array.isArray(value) ? value : []
  const element = field.element
  if (!element) return null
  const set = (at: number, item: Json | undefined) => onChange(items.map((was, i) => (i === at ? (item ?? '') : was)))
  const remove = (at: number) => onChange(items.filter((_, i) => i !== at))
  const name = labelOf(field.name)
  return (
    <>
      <ol className={css.list}>
        {items.slice(0, shown).map((item, at) => (
          <li key={at}>
            {element.type === 'object' ? (
              <Card element={element} path={`${path}[${at}]`} item={item} name={`${name} ${at + 1}`} onChange={(next) => set(at, next)} onRemove={() => remove(at)} />
            ) : (
              <span className={css.item}>
                <Input field={element} path={`${path}[${at}]`} id={`${path}[${at}]`} label={`${name} ${at + 1}`} value={item} onChange={(next) => set(at, next)} />
                <button type="button" disabled={isDisabled} onClick={() => remove(at)} aria-label={`Remove ${name} ${at + 1}`}>Remove</button>
              </span>
            )}
          </li>
        ))}
      </ol>
      {items.length > shown && (
        <button type="button" onClick={() => setShown(shown * 4)}>{`Show more: ${items.length - shown} are not shown`}</button>
      )}
      <button
        type="button"
        disabled={isDisabled || (field.most !== undefined && items.length >= field.most)}
        onClick={() => {
          setShown(Math.max(shown, items.length + 1))
          onChange([...items, emptyOf(element)])
        }}
        aria-label={`Add to ${name}`}
      >
        Add
      </button>
    </>
  )
}

function Card({ element, path, item, name, onChange, onRemove }: { element: FieldProps['field']; path: string; item: Json; name: string; onChange: (item: Json) => void; onRemove: () => void }) {
  const { problem, isDisabled } = useForm()
  const summary = revealText(summaryOf(item))
  const [isOpen, setOpen] = useState(summary === '')
  const open = isOpen || holdsProblem(problem, path)
  const wrong = problemAt(problem, path, 'parts')
  return (
    <details className={css.card} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {summary || 'new'}
        {isObject(item) && item['enabled'] === false && <span> disabled</span>}
      </summary>
      {open && (
        <>
          {wrong && <p className={css.wrong} role="alert">{wrong}</p>}
          <ObjectFields fields={element.fields ?? []} path={path} value={isObject(item) ? item : {}} onChange={onChange} />
          <p>
            <button type="button" disabled={isDisabled} onClick={onRemove} aria-label={`Remove ${name}`}>Remove</button>
          </p>
        </>
      )}
    </details>
  )
}
