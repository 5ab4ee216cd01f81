import type { Frame } from '../api/promql'
import { clock } from '../time/format'
import css from './chart.module.css'
import type { Measure } from './measure'

const rowsMost = 500

/** The values of a chart, newest first. */
export function ChartTable({ measure, frame }: { measure: Measure; frame: Frame }) {
  const rows = frame.times.map((at, index) => ({ at, index })).reverse().slice(0, rowsMost)
  return (
    <div className={css.values} tabIndex={0} role="region" aria-label={`${measure.name} as a table`}>
      <table className={css.legend}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {measure.lines.map((line) => <th key={line.key} scope="col">{line.name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, index }) => (
            <tr key={at}>
              <th scope="row">{clock(at * 1000)}</th>
              {measure.lines.map((line, column) => <td key={line.key}>{measure.write(frame.lines[column]?.[index] ?? null)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
