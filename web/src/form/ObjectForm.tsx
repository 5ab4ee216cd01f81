import { type ReactNode, useMemo, useState } from 'react'
import type { Field } from '../api/schema'
import type { JsonObject } from '../api/value'
import { matches } from '../part/matches'
import { FieldRow } from './FieldRow'
import css from './form.module.css'
import { Form, type FormState } from './state'
import { holdsProblem, type Problem, sectionsOf } from './section'

interface Props {
  fields: Field[]
  /** As it was read; the form sorts its fields by it. */
  initial: JsonObject
  value: JsonObject
  onChange: (value: JsonObject) => void
  problem: Problem | undefined
  isDisabled: boolean
  tenant: string
}

/** A form for any object, made from the schema of its kind. It shows first what is set, then the rest. */
export function ObjectForm({ fields, initial, value, onChange, problem, isDisabled, tenant }: Props) {
  const sections = useMemo(() => sectionsOf(fields, initial), [fields, initial])
  const state = useMemo<FormState>(() => ({ problem, isDisabled, tenant }), [problem, isDisabled, tenant])
  const rows = (list: Field[]) =>
    list.map((field) => (
      <FieldRow
        key={field.name}
        field={field}
        path={field.name}
        value={value[field.name]}
        onChange={(next) => {
          const changed = { ...value }
          if (next === undefined) delete changed[field.name]
          else changed[field.name] = next
          onChange(changed)
        }}
      />
    ))
  return (
    <Form value={state}>
      <div className={css.form}>
        {rows(sections.main)}
        <Section title="More settings" note="they have their defaults" fields={sections.more} problem={problem}>{rows}</Section>
        {sections.idle.length > 0 && (
          <fieldset className={css.idle}>
            <legend>Set, without function in Weir</legend>
            {rows(sections.idle)}
          </fieldset>
        )}
        <Section title="Fields of Avi without function in Weir" note="stored and returned as they are" fields={sections.rest} problem={problem}>{rows}</Section>
      </div>
    </Form>
  )
}

const filteredLeast = 8

/** Fields that few need: closed, with a filter. */
function Section({ title, note, fields, problem, children }: { title: string; note: string; fields: Field[]; problem: Problem | undefined; children: (fields: Field[]) => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const [filter, setFilter] = useState('')
  if (fields.length === 0) return null
  const open = isOpen || fields.some((field) => holdsProblem(problem, field.name))
  return (
    <details className={css.section} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {title} <span>{`${fields.length}, ${note}`}</span>
      </summary>
      {open && fields.length > filteredLeast && (
        <input type="search" className={css.find} aria-label={`Find in ${title.toLowerCase()}`} placeholder="Find a setting" value={filter} onChange={(event) => setFilter(event.target.value)} />
      )}
      {open && children(fields.filter((field) => matches(filter, [field.name, field.name.replaceAll('_', ' ')])))}
    </details>
  )
}
