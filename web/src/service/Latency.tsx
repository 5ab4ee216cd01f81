import { useMemo, useState } from 'react'
import { bandsOf, type Box, countIn, type Heat, readBox, writeBox } from '../api/heat'
import { useHeat } from '../api/useHeat'
import { HeatMap } from '../chart/HeatMap'
import { More } from '../part/More'
import { Panel } from '../part/Panel'
import { csv, fileName, save } from '../part/save'
import { Shown } from '../part/Shown'
import { clock, count, ms, percent } from '../time/format'
import { boundsOf, drawn, type Range, stamp, writeRange } from '../time/range'
import { Link } from '../url/Link'
import { setParam, useParam } from '../url/location'
import { setRange, useRange } from '../url/useRange'
import { Differs } from './Differs'
import css from './service.module.css'

const livelikeS = 1800
const pixels = 1100

/** The heat map of latency, and what is in a box that the reader draws: the box is in the URL. */
export function Latency({ uuid, name }: { uuid: string; name: string }) {
  const chosen = useRange()
  const range: Range = chosen.kind === 'live' ? { kind: 'recent', seconds: livelikeS } : chosen
  const heat = useHeat(uuid, range, pixels)
  const [isTable, setTable] = useState(false)
  const drawnBox = useParam('box')
  const box = useMemo(() => readBox(drawnBox), [drawnBox])
  const value = heat.value
  const menu = (
    <More
      of="Latency of requests"
      items={[
        { name: isTable ? 'Hide the table' : 'Show as a table', does: () => setTable(!isTable) },
        { name: 'Save as CSV', does: () => value && save(fileName(`${name} latency`, 'csv'), 'text/csv', csv(['time', 'from ms', 'to ms', 'requests'], rowsOf(value))) },
        { name: 'Save as JSON', does: () => value && save(fileName(`${name} latency`, 'json'), 'application/json', JSON.stringify(value.cells.map((cell) => ({ ...cell, at: stamp((value.times[cell.at] ?? 0) * 1000) })), null, 1)) },
      ]}
    />
  )
  return (
    <Panel title="Latency of requests" note={chosen.kind === 'live' ? 'last 30 minutes, a column a minute' : undefined} menu={menu}>
      <Shown of={heat} what="the history of latency">
        {(found) => {
          if (found.cells.length === 0) return <p className={css.none}>No request was timed in this range. The history has a sample each minute; layer 4 has no times.</p>
          const fromMs = ((found.times[0] ?? 0) - found.stepS) * 1000
          const toMs = Math.max(boundsOf(range, (found.times.at(-1) ?? 0) * 1000).toMs, (found.times.at(-1) ?? 0) * 1000)
          return (
            <>
              <HeatMap heat={found} fromMs={fromMs} toMs={toMs} label={`Latency of the requests of ${name} over time`} box={box} onBox={(one) => setParam('box', one ? writeBox({ ...one, ofFromMs: fromMs, ofToMs: toMs }) : '', one ? 'push' : 'replace')} />
              {box && <Chosen uuid={uuid} heat={found} box={box} isShown={box.fromMs < toMs && box.toMs > fromMs} />}
              {box && <Differs uuid={uuid} box={box} range={{ kind: 'fixed', fromMs: box.ofFromMs, toMs: box.ofToMs }} logs={(more) => logsOf(uuid, drawn(box.fromMs, box.toMs), box.lowMs, box.highMs, more)} />}
              {isTable && <Bands uuid={uuid} heat={found} range={range} />}
            </>
          )
        }}
      </Shown>
    </Panel>
  )
}

function rowsOf(heat: Heat) {
  return heat.cells.map((cell) => [stamp((heat.times[cell.at] ?? 0) * 1000), cell.lowMs, cell.highMs, Math.round(cell.count)])
}

function Chosen({ uuid, heat, box, isShown }: { uuid: string; heat: Heat; box: Box; isShown: boolean }) {
  const { inside, all } = countIn(heat, box)
  const range = drawn(box.fromMs, box.toMs)
  const took = `took ${ms(box.lowMs)} to ${ms(box.highMs)} between ${clock(box.fromMs)} and ${clock(box.toMs)}`
  return (
    <div className={css.chosen} role="status">
      <span>{isShown ? `${count(Math.round(inside))} requests ${took}: ${percent(all > 0 ? inside / all : undefined)} of those in that time.` : `The box is of requests that ${took}, which is outside of the time above.`}</span>
      <Link to={logsOf(uuid, range, box.lowMs, box.highMs)}>Their log records</Link>
      <button onClick={() => setRange(range)}>Zoom to this time</button>
      <button onClick={() => setParam('box', '')}>Remove the box</button>
    </div>
  )
}

/** The log explorer, filtered by time and duration. Records have whole milliseconds. */
function logsOf(uuid: string, range: Range, lowMs: number, highMs: number, more = ''): string {
  const { from, to } = writeRange(range)
  const query = new URLSearchParams({ f: `total:${Math.floor(lowMs)}..${Math.ceil(highMs)} ${more}`.trim(), from })
  if (to) query.set('to', to)
  return `/services/${uuid}/logs?${query}`
}

function Bands({ uuid, heat, range }: { uuid: string; heat: Heat; range: Range }) {
  const bands = bandsOf(heat)
  const all = bands.reduce((sum, band) => sum + band.count, 0)
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="Latency as a table">
      <table className={css.bands}>
        <thead>
          <tr>{['Took', 'Requests', 'Share', ''].map((head) => <th key={head} scope="col">{head || <span className="hidden">Records</span>}</th>)}</tr>
        </thead>
        <tbody>
          {bands.map((band) => (
            <tr key={band.lowMs}>
              <th scope="row">{`${ms(band.lowMs)} to ${ms(band.highMs)}`}</th>
              <td>{count(Math.round(band.count))}</td>
              <td>{percent(band.count / all)}</td>
              <td><Link to={logsOf(uuid, range, band.lowMs, band.highMs)}>log records</Link></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
