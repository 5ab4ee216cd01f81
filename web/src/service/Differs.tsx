import { type Box } from '../api/heat'
import { useDiffer } from '../api/useDiffer'
import { Shown } from '../part/Shown'
import { fieldOf, requests } from '../api/fields'
import { withTerm } from '../api/filter'
import { count, percent } from '../time/format'
import type { Range } from '../time/range'
import { Link } from '../url/Link'
import css from './service.module.css'

/** What the requests in a box of the heat map have in common, that the others do not. */
export function Differs({ uuid, box, range, logs }: { uuid: string; box: Box; range: Range; logs: (more: string) => string }) {
  const found = useDiffer(uuid, box, range)
  const termOf = (name: string, value: string) => {
    const field = fieldOf(requests, name)
    return field ? withTerm('', field, value, false) : ''
  }
  return (
    <Shown of={found} what="the records of these requests">
      {({ inside, outside, differences, notCompared, isPartial }) => {
        const missing = notCompared.length > 0 ? ` Not compared, as they have too many values: ${notCompared.join(', ')}.` : ''
        if (isPartial) return <p className={css.none}>Not all records of this range could be read in time, so these requests are not compared. Choose a shorter range.</p>
        if (inside === 0) return <p className={css.none}>No record of these requests was kept, so they cannot be compared. Full logs in the analytics policy of the service keep one of each.</p>
        if (differences.length === 0) return <p className={css.none}>{`Nothing differs: the ${count(inside)} requests inside that have records are like the ${count(outside)} others of this range.${missing}`}</p>
        return (
          <table className={css.bands} aria-label="What differs inside the box">
            <caption>{`What differs: by the records of ${count(inside)} requests inside, and ${count(outside)} outside.${missing}`}</caption>
            <thead>
              <tr>{['Field', 'Value', 'Inside', 'Outside', ''].map((head) => <th key={head} scope="col">{head || <span className="hidden">Records</span>}</th>)}</tr>
            </thead>
            <tbody>
              {differences.map((one) => (
                <tr key={`${one.name} ${one.value}`}>
                  <th scope="row">{one.title}</th>
                  <td><code>{one.value}</code></td>
                  <td><Share of={one.inside} look="inside" /></td>
                  <td><Share of={one.outside} look="outside" isBound={one.isBound} /></td>
                  <td><Link to={logs(termOf(one.name, one.value))}>log records</Link></td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }}
    </Shown>
  )
}

function Share({ of, look, isBound = false }: { of: number; look: string; isBound?: boolean }) {
  return (
    <span className={css.share} data-look={look}>
      <span>{isBound ? `at most ${percent(of)}` : percent(of)}</span>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width={of * 100} height="8" /></svg>
    </span>
  )
}
