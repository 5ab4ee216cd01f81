import { type Frame, queryOf } from '../api/promql'
import { More } from '../part/More'
import { csv, fileName, save } from '../part/save'
import { stamp } from '../time/range'
import { type Band, columnsOf } from './band'
import type { Measure } from './measure'

/** The table of a chart, and files of it. */
export function ChartMenu({ measure, frame, bands, of, isTable, onTable }: { measure: Measure; frame: Frame | undefined; bands: Band[]; of: string; isTable: boolean; onTable: (shown: boolean) => void }) {
  const name = `${of} ${measure.name}`
  const columns = () => (frame ? columnsOf(measure, frame, bands) : [])
  const asCSV = () => {
    const all = columns()
    if (frame) save(fileName(name, 'csv'), 'text/csv', csv(['time', ...all.map((column) => column.name)], frame.times.map((at, row) => [stamp(at * 1000), ...all.map(({ values }) => values[row] ?? null)])))
  }
  const asJSON = () =>
    frame && save(fileName(name, 'json'), 'application/json', JSON.stringify({ of, measure: measure.name, times: frame.times.map((at) => stamp(at * 1000)), lines: Object.fromEntries(columns().map((column) => [column.name, column.values])) }, null, 1))
  return (
    <More
      of={measure.name}
      items={[
        { name: isTable ? 'Hide the table' : 'Show as a table', does: () => onTable(!isTable) },
        { name: 'Save as CSV', does: asCSV },
        { name: 'Save as JSON', does: asJSON },
        { name: 'Copy as PromQL', does: () => void navigator.clipboard.writeText(queryOf(measure.lines, 15, 0)) },
      ]}
    />
  )
}
