import form from '../form/form.module.css'
import { type Choice, urisIn } from './purge'
import css from './service.module.css'

/** Asks what is purged. */
export function PurgeChoice({ of, onChange }: { of: Choice; onChange: (choice: Choice) => void }) {
  const uris = urisIn(of.text).length
  return (
    <>
      Engines answer no more with what they have stored, and ask the servers again. It cannot be undone.
      <label className={css.also}>
        <input type="radio" name="purge" checked={of.isAll} onChange={() => onChange({ ...of, isAll: true })} />
        All stored responses
      </label>
      <label className={css.also}>
        <input type="radio" name="purge" checked={!of.isAll} onChange={() => onChange({ ...of, isAll: false })} />
        Those of some URIs
      </label>
      {!of.isAll && (
        <>
          <label className={form.form}>
            <span>URIs, one in a line: host and path, or a path of any host</span>
            <textarea rows={4} spellCheck={false} placeholder="shop.example.com/prices?all" value={of.text} onChange={(event) => onChange({ ...of, text: event.target.value })} />
            <small className={form.note}>{uris === 0 ? 'As the servers are asked for them, behind rules that rewrite.' : `${uris} ${uris === 1 ? 'URI' : 'URIs'}`}</small>
          </label>
          <label className={css.also}>
            <input type="checkbox" checked={of.isPrefix} onChange={(event) => onChange({ ...of, isPrefix: event.target.checked })} />
            And all paths that begin so
          </label>
        </>
      )}
    </>
  )
}
