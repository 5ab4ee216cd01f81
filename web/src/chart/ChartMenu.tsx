import { Menu } from '@base-ui/react/menu'
import { queryOf } from '../api/promql'
import { fileName, save } from '../part/save'
import type { Frame } from '../api/promql'
import { stamp } from '../time/range'
import css from './chart.module.css'
import type { Measure } from './measure'
import { csv } from '../part/save'

/** What a reader can do with a chart besides looking at it. */
export function ChartMenu({ measure, frame, of, isTable, onTable }: { measure: Measure; frame: Frame | undefined; of: string; isTable: boolean; onTable: (shown: boolean) => void }) {
  const name = `${of} ${measure.name}`
  const asCSV = () =>
    frame && save(fileName(name, 'csv'), 'text/csv', csv(['time', ...measure.lines.map((line) => line.name)], frame.times.map((at, row) => [stamp(at * 1000), ...frame.lines.map((line) => line[row] ?? null)])))
  const asJSON = () =>
    frame && save(fileName(name, 'json'), 'application/json', JSON.stringify({ of, measure: measure.name, times: frame.times.map((at) => stamp(at * 1000)), lines: Object.fromEntries(measure.lines.map((line, index) => [line.name, frame.lines[index]])) }, null, 1))
  const copy = () => void navigator.clipboard.writeText(queryOf(measure.lines, 15, 0))
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className={css.more} aria-label={`${measure.name}: table, export`} title="Table, export">⋯</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className={css.positioner}>
          <Menu.Popup className={css.menu}>
            <Menu.Item className={css.item} onClick={() => onTable(!isTable)}>{isTable ? 'Hide the table' : 'Show as a table'}</Menu.Item>
            <Menu.Item className={css.item} onClick={asCSV}>Save as CSV</Menu.Item>
            <Menu.Item className={css.item} onClick={asJSON}>Save as JSON</Menu.Item>
            <Menu.Item className={css.item} onClick={copy}>Copy as PromQL</Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
