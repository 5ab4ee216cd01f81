import { type ReactNode, useId } from 'react'
import { type Field } from '../api/schema'
import { labelOf } from '../api/words'
import { isObject, type Json, type JsonObject } from '../api/value'
import { revealText } from '../api/reveal'
import css from './form.module.css'
import { Input } from './Input'
import { JsonInput } from './JsonInput'
import { ListInput } from './ListInput'
import { emptyOf, hintOf, problemAt } from './section'
import { useForm } from './state'

export interface FieldProps {
  field: Field
  path: string
  value: Json | undefined
  /** undefined: the field is absent, so that it has its default. */
  onChange: (value: Json | undefined) => void
}

const effects = { none: 'No effect', closes: 'Stops the service', refused: 'Refused' }

/** A field with its name, what the controller says about it, and the input for its type. */
export function FieldRow(props: FieldProps) {
  const { field, path, value } = props
  const id = useId()
  const { problem } = useForm()
  const isParts = field.type === 'object' && !field.kept
  const isList = field.type === 'list' && !field.kept
  const wrong = problemAt(problem, path, isParts || (isList && field.element?.type === 'object') ? 'parts' : 'whole')
  const hidden = typeof value === 'string' ? revealText(value.replaceAll('\n', '')) : ''
  const notes: ReactNode[] = []
  const hint = hintOf(field)
  if (hint) notes.push(hint)
  if (hidden !== '' && typeof value === 'string' && hidden !== value.replaceAll('\n', '')) notes.push(`It has characters that do not show: ${hidden}`)
  if (field.effect) notes.push(<span key="why" data-look="attention">{`${effects[field.effect]}: ${field.why ?? ''}`}</span>)
  const describedBy = `${id}-note`
  if (isParts) return <Parts {...props} id={id} note={notes} wrong={wrong} />
  const label = (
    <>
      {labelOf(field.name)}
      {field.required && <span className={css.required} title="required"> *</span>}
    </>
  )
  const below = (
    <p id={describedBy} className={css.note}>
      {wrong && <span className={css.wrong} role="alert">{wrong}</span>}
      {notes.map((note, at) => (
        <span key={at}>{note}</span>
      ))}
    </p>
  )
  if (isList) {
    return (
      <fieldset className={css.row} data-field={path}>
        <legend title={path}>{label}</legend>
        <div>
          <ListInput {...props} />
          {below}
        </div>
      </fieldset>
    )
  }
  const isJson = field.kept && (field.type === 'object' || field.type === 'list')
  return (
    <div className={css.row} data-field={path}>
      <label htmlFor={id} title={path}>{label}</label>
      <div>
        {isJson ? <JsonInput {...props} id={id} describedBy={describedBy} /> : <Input {...props} id={id} describedBy={describedBy} isWrong={wrong !== ''} />}
        {below}
      </div>
    </div>
  )
}

/** An object within the object. */
function Parts({ field, path, value, onChange, id, note, wrong }: FieldProps & { id: string; note: ReactNode[]; wrong: string }) {
  const { isDisabled } = useForm()
  const parts = isObject(value) ? value : undefined
  return (
    <fieldset className={css.parts} data-field={path}>
      <legend id={id} title={path}>
        {labelOf(field.name)}
        {field.required && <span className={css.required} title="required"> *</span>}
      </legend>
      {wrong && <p className={css.wrong} role="alert">{wrong}</p>}
      {note.length > 0 && <p className={css.note}>{note}</p>}
      {parts === undefined ? (
        <p>
          <span className={css.unset}>not set </span>
          <button type="button" disabled={isDisabled} onClick={() => onChange(emptyOf(field))} aria-describedby={id}>Set</button>
        </p>
      ) : (
        <>
          <ObjectFields fields={field.fields ?? []} path={path} value={parts} onChange={onChange} />
          {!field.required && (
            <p>
              <button type="button" disabled={isDisabled} onClick={() => onChange(undefined)} aria-describedby={id}>Remove</button>
            </p>
          )}
        </>
      )}
    </fieldset>
  )
}

/** The fields of an object within the object. Those of Avi without function are there if they are set. */
export function ObjectFields({ fields, path, value, onChange }: { fields: Field[]; path: string; value: JsonObject; onChange: (value: JsonObject) => void }) {
  return (
    <>
      {fields
        .filter((inner) => !inner.computed && (!inner.kept || value[inner.name] !== undefined))
        .map((inner) => (
          <FieldRow
            key={inner.name}
            field={inner}
            path={`${path}.${inner.name}`}
            value={value[inner.name]}
            onChange={(next) => {
              const changed = { ...value }
              if (next === undefined) delete changed[inner.name]
              else changed[inner.name] = next
              onChange(changed)
            }}
          />
        ))}
    </>
  )
}
