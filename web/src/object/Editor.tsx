import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { Schema } from '../api/schema'
import { useData } from '../api/useData'
import { revealedJSON } from '../api/reveal'
import { useUnsaved } from '../url/unsaved'
import { differences, isObject, type JsonObject, same } from '../api/value'
import change from '../form/change.module.css'
import { Diff } from '../form/Diff'
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
  const page = useRef<HTMLFormElement>(null)
  useEffect(() => showField(page.current, edit.problem?.field ?? ''), [edit.problem])
  const changed = useMemo(() => (isNew || !edit.isChanged ? [] : differences(edit.base, edit.value)), [isNew, edit.isChanged, edit.base, edit.value])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void edit.save()
  }
  return (
    <form ref={page} className={css.editor} onSubmit={submit} noValidate>
      {!isAllowed && <p className={css.readonly}>{`You can look, and not change: ${schema.why_not ?? ''}`}</p>}
      <div className={css.bar}>
        <span className={change.actions}>
          <button type="submit" className={change.primary} disabled={!isAllowed || edit.isBusy || (!edit.isChanged && !isNew)} title={isAllowed ? undefined : schema.why_not}>{does}</button>
          {!isNew && <button type="button" disabled={!edit.isChanged || edit.isBusy} onClick={edit.reset}>Reset</button>}
          {children}
        </span>
        {changed.length > 0 && !edit.theirs && (
          <details className={css.changed}>
            <summary>
              {`You change ${changed.length} ${changed.length === 1 ? 'field' : 'fields'}`} <Concerned kind={schema.name} uuid={String(edit.base['uuid'] ?? '')} />
            </summary>
            <Diff of={changed} before="It is" after="You want" />
          </details>
        )}
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

const everyMs = 10_000

/** Whom a change of an object concerns. */
function Concerned({ kind, uuid }: { kind: string; uuid: string }) {
  const progress = useData<{ engines_total: number; virtual_services?: number }>(`/api/weir/applied?revision=0&kind=${kind}&uuid=${uuid}`, everyMs).value
  if (!progress?.virtual_services) return <small>no service uses it</small>
  const services = `${progress.virtual_services} ${progress.virtual_services === 1 ? 'service uses' : 'services use'} it`
  return <small>{`${services}, on ${progress.engines_total} ${progress.engines_total === 1 ? 'engine' : 'engines'}`}</small>
}

/** Brings the field that the controller refused into sight, or what holds it. */
function showField(form: HTMLFormElement | null, path: string) {
  for (let at = path; at && form; at = at.replace(/(\.[^.[]*|\[\d+\]|^[^.[]*)$/, '')) {
    const field = form.querySelector<HTMLElement>(`[data-field="${CSS.escape(at)}"]`)
    if (!field) continue
    field.scrollIntoView({ block: 'center' })
    field.querySelector<HTMLElement>('input, select, textarea, button')?.focus({ preventScroll: true })
    return
  }
}

const largeMost = 200_000

function JsonSide({ value, onChange, isDisabled }: { value: JsonObject; onChange: (value: JsonObject) => void; isDisabled: boolean }) {
  const [draft, setDraft] = useState<{ text: string; of: JsonObject }>()
  const [problem, setProblem] = useState('')
  // The text of the user stays as it is while it means what the form has.
  const [isShown, setShown] = useState(() => JSON.stringify(value).length <= largeMost)
  const isDraft = draft !== undefined && same(draft.of, value)
  const text = !isShown ? '' : isDraft ? draft.text : revealedJSON(value)
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
    <Panel title="JSON" note={problem && isDraft ? <span role="alert" data-look="bad">{`not taken over: ${problem}`}</span> : 'what the API has; the form follows it'}>
      {!isShown && (
        <p className={css.inner}>
          It is large, and would slow the form down. <button type="button" onClick={() => setShown(true)}>Show it</button>
        </p>
      )}
      <textarea hidden={!isShown} className={css.json} aria-label="JSON of the object" aria-invalid={(problem !== '' && isDraft) || undefined} spellCheck={false} disabled={isDisabled} value={text} onChange={(event) => type(event.target.value)} />
    </Panel>
  )
}
