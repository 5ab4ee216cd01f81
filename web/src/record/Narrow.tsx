import { count, percent } from '../time/format'
import type { Top } from './ask'
import { fieldOf, type Kind } from '../api/fields'
import { useNarrow } from '../part/useNarrow'
import css from './record.module.css'

/** The most frequent values of some fields, each to be kept or left out. */
export function Narrow({ kind, tops, total, onPick }: { kind: Kind; tops: Map<string, Top[]>; total: number; onPick: (name: string, value: string, isNegative: boolean) => void }) {
  const isNarrow = useNarrow()
  const fields = kind.narrow.filter((name) => (tops.get(name) ?? []).some((top) => top.value !== ''))
  if (fields.length === 0) return <p className={css.more}>Nothing to narrow down.</p>
  return (
    <div className={css.narrow}>
      {fields.map((name, at) => {
        const values = tops.get(name) ?? []
        const listed = values.reduce((sum, top) => sum + top.count, 0)
        const all = Math.max(total, listed) // the two are read at different times
        return (
          <details key={name} open={!isNarrow && at < 6}>
            <summary>{fieldOf(kind, name)?.title ?? name}</summary>
            <ul>
              {values.map((top) => (
                <li key={top.value}>
                  <span className={css.value} title={`${top.value || '(none)'}: ${count(top.count)}`}>{top.value || '(none)'}</span>
                  <span className={css.share} title="Of all that the search finds">{percent(top.count / all)}</span>
                  <button onClick={() => onPick(name, top.value, false)} aria-label={`Only ${name} ${top.value || '(none)'}`} title="Only these">+</button>
                  <button onClick={() => onPick(name, top.value, true)} aria-label={`Without ${name} ${top.value || '(none)'}`} title="Without these">−</button>
                </li>
              ))}
              {all - listed > all / 1000 && <li><span className={css.value}>others, or none</span><span className={css.share}>{percent((all - listed) / all)}</span></li>}
            </ul>
          </details>
        )
      })}
    </div>
  )
}
