import { useEffect, useRef, useState } from 'react'
import { setParam, useParam } from '../url/location'
import css from './part.module.css'

/** The text that a list is filtered by, as ?f= in the URL. The key "/" comes here, Escape clears it. */
export function Filter({ of, shown, total }: { of: string; shown: number; total: number }) {
  const filter = useParam('f')
  const [text, setText] = useState(filter)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (document.activeElement !== input.current) setText(filter)
  }, [filter])
  const change = (value: string) => {
    setText(value)
    setParam('f', value.trim())
  }
  return (
    <div className={css.filter}>
      <input
        ref={input}
        type="search"
        aria-label={`Filter ${of}`}
        placeholder={`Filter ${of}`}
        title="Shows the rows that contain all words. Press / to come here, Escape to clear."
        data-filter
        value={text}
        spellCheck={false}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          change('')
          event.currentTarget.blur()
        }}
      />
      <span className={css.note}>{shown === total ? `${total}` : `${shown} of ${total}`}</span>
    </div>
  )
}

export function FilterHidesAll({ of }: { of: string }) {
  return (
    <div className={css.empty}>
      <h2>The filter hides all {of}</h2>
      <div>
        <button className={css.link} onClick={() => clear()}>Clear the filter</button>
      </div>
    </div>
  )
}

function clear() {
  for (const name of ['f', 'state', 'kind']) setParam(name, '')
}
