import { type FormEvent, type ReactNode, useState } from 'react'
import type { Schema } from '../api/schema'
import { useUnsaved } from '../api/unsaved'
import { isObject, type JsonObject, same } from '../api/value'
import change from '../form/change.module.css'
import { ObjectForm } from '../form/ObjectForm'
import type { Edit } from '../form/useEdit'
import { Panel } from '../part/Panel'
import css from './object.module.css'

interface Props {
  schema: Schema
  edit: Pick<Edit, 'base' | 'value' | 'isChanged' | 'isBusy' | 'problem' | 'message' | 'change' | 'reset' | 'save'> & { theirs?: JsonObject | undefined }
  tenant: string
  /** What the button says; missing: Save. */
  does?: string
  children?: ReactNode
}

/** The form of an object, with its JSON beside it: either changes the other. */
export function Editor({ schema, edit, tenant, does = 'Save', children }: Props) {
  const isNew = does !== 'Save'
  const isAllowed = isNew ? schema.may_create : schema.may_change
  useUnsaved(edit.isChanged)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void edit.save()
  }
  return (
    <form className={css.editor} onSubmit={submit} noValidate>
      {!isAllowed && <p className={css.readonly}>{`You can look, and not change: ${schema.why_not ?? ''}`}</p>}
      <div className={css.bar}>
        <span className={change.actions}>
          <button type="submit" className={change.primary} disabled={!isAllowed || edit.isBusy || (!edit.isChanged && !isNew)} title={isAllowed ? undefined : schema.why_not}>{does}</button>
          {!isNew && <button type="button" disabled={!edit.isChanged || edit.isBusy} onClick={edit.reset}>Reset</button>}
          {children}
        </span>
        {edit.message && !edit.theirs && <p role="alert" className={change.wrong}>{edit.message}</p>}
      </div>
      <div className={css.sides}>
        <Panel title="Settings">
          <div className={css.inner}>
            <ObjectForm fields={schema.fields} initial={edit.base} value={edit.value} onChange={edit.change} problem={edit.problem} isDisabled={!isAllowed} tenant={tenant} />
          </div>
        </Panel>
        <JsonSide value={edit.value} onChange={edit.change} isDisabled={!isAllowed} />
      </div>
    </form>
  )
}

function JsonSide({ value, onChange, isDisabled }: { value: JsonObject; onChange: (value: JsonObject) => void; isDisabled: boolean }) {
  const [draft, setDraft] = useState<{ text: string; of: JsonObject }>()
  const [problem, setProblem] = useState('')
  // The text of the user stays as it is while it means what the form has.
  const text = draft && same(draft.of, value) ? draft.text : JSON.stringify(value, null, 2)
  const type = (next: string) => {
    try {
      const parsed: unknown = JSON.parse(next)
      if (!isObject(parsed)) throw new Error('It is not an object.')
      setDraft({ text: next, of: parsed })
      setProblem('')
      onChange(parsed)
    } catch (error) {
      setDraft({ text: next, of: value })
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <Panel title="JSON" note={problem ? <span role="alert" data-look="bad">{`not taken over: ${problem}`}</span> : 'what the API has; the form follows it'}>
      <textarea className={css.json} aria-label="JSON of the object" aria-invalid={problem !== '' || undefined} spellCheck={false} disabled={isDisabled} value={text} onChange={(event) => type(event.target.value)} />
    </Panel>
  )
}
