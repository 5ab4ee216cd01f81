import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { setParam, setParams } from '../url/location'
import { fieldOf, type Kind } from '../api/fields'
import { isAlternative, parse, turned, withoutTerm, withTerm } from '../api/filter'
import { Fields } from './Fields'
import css from './record.module.css'

/** The search as text and as chips: both are the same terms. */
export function Search({ kind, text, onText, follows, canFollow }: { kind: Kind; text: string; onText: (text: string) => void; follows: boolean; canFollow: boolean }) {
  const [typed, setTyped] = useState(text)
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => setTyped(text), [text])
  const problem = parse(typed, kind).find((term) => term.problem)?.problem
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onText(typed.trim())
  }
  const chips = parse(text, kind)
  const klass = fieldOf(kind, 'class')
  const significant = chips.some((term) => term.source === 'class:significant')
  return (
    <form className={css.search} onSubmit={submit} role="search">
      <div className={css.line}>
        <input
          ref={input}
          data-filter
          type="text"
          aria-label={`Search ${kind.name}`}
          aria-invalid={problem !== undefined}
          aria-describedby={id}
          list={`${id}-fields`}
          placeholder={placeholders[kind.name]}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="none"
          maxLength={2000}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            setTyped(text)
            event.currentTarget.blur()
          }}
        />
        <datalist id={`${id}-fields`}>
          {suggestions(typed, kind).map((one) => <option key={one.value} value={one.value}>{one.says}</option>)}
        </datalist>
        <button type="submit" className={css.button}>Search</button>
        <Fields kind={kind} input={input} onPick={(name) => setTyped(`${typed.trimEnd()} ${name}:`.trimStart())} />
        {kind.isWeighted && (
          <>
            <button type="button" className={css.button} aria-pressed={significant} onClick={() => !significant && klass && onText(withTerm(text, klass, 'significant', false))}>Significant</button>
            <button type="button" className={css.button} aria-pressed={!significant} onClick={() => onText(withoutTerm(text, 'class:significant'))}>All kept</button>
          </>
        )}
        <button type="button" className={css.button} aria-pressed={follows} onClick={() => (canFollow ? setParam('follow', follows ? 'off' : '') : setParams({ from: '', to: '', follow: '' }, 'push'))} title="Reads what is new every two seconds">Follow</button>
      </div>
      <p id={id} className={problem ? css.problem : 'hidden'} role={problem ? 'status' : undefined}>{problem ?? `Words, field:value, >=, a..b, *, -, OR and parentheses. Fields: ${kind.fields.map((field) => field.name).join(', ')}.`}</p>
      {chips.length > 0 && (
        <ul className={css.chips} aria-label="Terms of the search">
          {chips.map((term, at) => (
            <li key={`${term.source} ${at}`} data-problem={term.problem !== undefined} title={term.problem}>
              {isAlternative(term.source) ? <span title="One of these">any</span> : <button type="button" onClick={() => onText(turned(text, term.source))} aria-label={`${term.source.startsWith('-') ? 'Include' : 'Exclude'} ${term.source.replace(/^-/, '')}`}>{term.source.startsWith('-') ? '−' : '+'}</button>}
              <code>{isAlternative(term.source) ? term.source : term.source.replace(/^-/, '')}</code>
              {term.problem && <small>not understood</small>}
              <button type="button" onClick={() => onText(withoutTerm(text, term.source))} aria-label={`Remove ${term.source}`}>×</button>
            </li>
          ))}
        </ul>
      )}
    </form>
  )
}

const placeholders = { requests: 'status:>=500 path:/pay* -ua:bot total:>1s', connections: 'reason:TLS client:10.0.0.1', events: 'event:VS_DOWN object:shop' }

/** Fields that begin as the last word does. */
function suggestions(typed: string, kind: Kind): { value: string; says: string }[] {
  const [, before = '', minus = '', word = ''] = /^(.*?)(-?)([A-Za-z_]*)$/s.exec(typed) ?? []
  if (before !== '' && !before.endsWith(' ')) return []
  return kind.fields.filter((field) => field.name.startsWith(word.toLowerCase())).map((field) => ({ value: `${before}${minus}${field.name}:`, says: field.field === field.name ? field.title : `${field.title} (${field.field} in the API)` }))
}
