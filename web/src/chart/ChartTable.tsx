import type { Frame } from '../api/promql'
import { clock } from '../time/format'
import { type Band, columnsOf } from './band'
import css from './chart.module.css'
import type { Measure } from './measure'

const rowsMost = 500

/** The values of a chart, newest first. */
export function ChartTable({ measure, frame, bands }: { measure: Measure; frame: Frame; bands: Band[] }) {
  const rows = frame.times.map((at, index) => ({ at, index })).reverse().slice(0, rowsMost)
  const columns = columnsOf(measure, frame, bands)
  return (
    <div className={css.values} tabIndex={0} role="region" aria-label={`${measure.name} as a table`}>
      <table className={css.legend}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {columns.map(({ name }) => <th key={name} scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, index }) => (
            <tr key={at}>
              <th scope="row">{clock(at * 1000)}</th>
              {columns.map(({ name, values }) => <td key={name}>{measure.write(values[index] ?? null)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
