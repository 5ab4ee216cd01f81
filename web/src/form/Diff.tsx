import { revealText } from '../api/reveal'
import { type Difference, shortly } from '../api/value'
import css from './change.module.css'

/** What differs, one line for each place: what was there, and what is there now. */
export function Diff({ of, before = 'Before', after = 'After' }: { of: Difference[]; before?: string; after?: string }) {
  if (of.length === 0) return <p className={css.dim}>Nothing differs.</p>
  return (
    <table className={css.diff}>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">{before}</th>
          <th scope="col">{after}</th>
        </tr>
      </thead>
      <tbody>
        {of.map((one) => (
          <tr key={one.path}>
            <td>{revealText(one.path)}</td>
            <td data-head={before} className={one.after === undefined ? css.gone : undefined}>{textOf(shortly(one.before))}</td>
            <td data-head={after}>{textOf(shortly(one.after))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const most = 600

function textOf(text: string): string {
  const shown = text.split('\n').map(revealText).join('\n')
  return shown.length > most ? `${shown.slice(0, most)}…` : shown
}
