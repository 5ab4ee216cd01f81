import { useState } from 'react'
import css from './account.module.css'

const shownMs = 2000

/** A text to take elsewhere, with a button that copies it. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('copied')
    } catch {
      setSaid('select it and press Ctrl C')
    }
    window.setTimeout(() => setSaid(''), shownMs)
  }
  return (
    <div className={css.copy}>
      <code tabIndex={0} aria-label={label}>{text}</code>
      <button type="button" onClick={() => void copy()}>Copy</button>
      <span role="status">{said}</span>
    </div>
  )
}
