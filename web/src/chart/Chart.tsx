import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { useHistory } from '../api/history'
import type { Mark } from '../api/marks'
import type { Frame } from '../api/promql'
import type { Series } from '../api/series'
import type { Usual } from '../api/usual'
import { Panel } from '../part/Panel'
import { clock } from '../time/format'
import { boundsOf, drawn, liveSeconds, type Range } from '../time/range'
import { setRange, useRange } from '../url/useRange'
import { type Band, bandsOf } from './band'
import css from './chart.module.css'
import { ChartMenu } from './ChartMenu'
import { ChartTable } from './ChartTable'
import { type Measure, summaryOf } from './measure'
import { type Plot, plot, widthOf } from './plot'
import { UsualLegend } from './UsualLegend'

const firstPixels = 600
const slowlyMs = 5000
const noMarks: Mark[] = []

/**
 * A chart of a measure with its table. With the range "live" it follows the series, where the stream has all of its lines; other
 * ranges, and measures that the stream does not have, come from the history. Behind the lines are the bands of what is usual.
 */
export function Chart({ measure, series, of, note, marks, usual }: { measure: Measure; series?: Series; of: string; note?: string | undefined; marks?: Mark[]; usual?: Usual | undefined }) {
  const range = useRange()
  const streamed = range.kind === 'live' && series !== undefined && measure.lines.every((line) => line.live)
  const shown: Range = range.kind === 'live' ? { kind: 'recent', seconds: streamed ? liveSeconds : 900 } : range
  const box = useRef<HTMLDivElement>(null)
  const [pixels, setPixels] = useState(firstPixels)
  useEffect(() => setPixels(box.current ? widthOf(box.current) : firstPixels), [])
  const history = useHistory(streamed ? null : measure.lines, shown, pixels)
  const [isTable, setTable] = useState(false)
  const lived = useSlowly(series, streamed, measure)
  const frame = streamed ? lived : history.value
  const bands = useMemo(() => bandsOf(measure, usual), [measure, usual])
  const says = range.kind === 'live' ? (streamed ? 'last five minutes' : 'last 15 minutes') : ''
  return (
    <Panel title={measure.name} note={[says, note].filter(Boolean).join('; ')} menu={<ChartMenu measure={measure} frame={frame} bands={bands} of={of} isTable={isTable} onTable={setTable} />}>
      {!streamed && history.error && <p className={css.problem} role="status">{`${history.value ? `As of ${clock(history.at)}: ` : ''}the history cannot be read. ${history.error.message}`}</p>}
      <Canvas box={box} measure={measure} series={streamed ? series : undefined} frame={history.value} range={shown} marks={marks ?? noMarks} bands={bands} label={`${measure.name}${says ? `, ${says}` : ''}`} />
      <Legend box={box} measure={measure} frame={frame} isHistory={!streamed} />
      {measure.lines.some((line) => line.usual) && <UsualLegend measure={measure} bands={bands} isRead={usual !== undefined} />}
      {isTable && frame && <ChartTable measure={measure} frame={frame} bands={bands} />}
    </Panel>
  )
}

/** The frame of a series for the table under the chart. It changes every five seconds at most: a chart draws outside of React. */
function useSlowly(series: Series | undefined, streamed: boolean, measure: Measure): Frame | undefined {
  const [frame, setFrame] = useState<Frame>()
  useEffect(() => {
    if (!series || !streamed) return
    let last = -Infinity
    const look = () => {
      if (performance.now() - last < slowlyMs) return
      last = series.points.length > 0 ? performance.now() : -Infinity
      setFrame(liveFrame(series, measure))
    }
    look()
    return series.subscribe(look)
  }, [series, streamed, measure])
  return frame
}

function liveFrame(series: Series, measure: Measure): Frame {
  return { times: series.points.map((point) => point.at_ms / 1000), lines: measure.lines.map((line) => series.points.map((point) => line.live?.(point) ?? null)) }
}

function Canvas({ box, measure, series, frame, range, marks, bands, label }: { marks: Mark[]; bands: Band[]; box: RefObject<HTMLDivElement | null>; measure: Measure; series: Series | undefined; frame: Frame | undefined; range: Range; label: string }) {
  const drawing = useRef<Plot>(null)
  const marksNow = useRef<number[]>([])
  const bandsNow = useRef<Band[]>([])
  const { fromMs, toMs } = range.kind === 'fixed' ? range : { fromMs: 0, toMs: 0 }
  const seconds = range.kind === 'recent' ? range.seconds : 0
  useEffect(() => {
    const element = box.current
    if (!element) return
    const now = () => boundsNow(series, seconds, fromMs, toMs)
    const empty = { times: [], lines: measure.lines.map(() => []) }
    const made = plot(element, measure, series ? liveFrame(series, measure) : empty, now(), {
      onDrawn: (one, other) => setRange(drawn(one, other)),
      onCursor: (at) => element.dispatchEvent(new CustomEvent('weir-cursor', { detail: at })),
    })
    drawing.current = made
    made.mark(marksNow.current)
    made.band(bandsNow.current)
    const leave = series?.subscribe(() => made.show(liveFrame(series, measure), now()))
    return () => {
      leave?.()
      made.destroy()
    }
  }, [box, measure, series, seconds, fromMs, toMs])
  useEffect(() => {
    marksNow.current = marks.map((mark) => mark.atMs / 1000)
    drawing.current?.mark(marksNow.current)
  }, [marks])
  useEffect(() => {
    bandsNow.current = bands
    drawing.current?.band(bands)
  }, [bands])
  useEffect(() => {
    if (!series && frame) drawing.current?.show(frame, boundsNow(undefined, seconds, fromMs, toMs))
  }, [series, frame, measure, seconds, fromMs, toMs])
  return <div ref={box} className={css.chart} role="img" aria-label={label} title="Drag to zoom in; Back undoes it" />
}

function boundsNow(series: Series | undefined, seconds: number, fromMs: number, toMs: number) {
  const now = series?.points.at(-1)?.at_ms ?? Date.now()
  const bounds = boundsOf(seconds > 0 ? { kind: 'recent', seconds } : { kind: 'fixed', fromMs, toMs }, now)
  return { fromS: bounds.fromMs / 1000, toS: bounds.toMs / 1000 }
}

/** The lines by name, with their values at the cursor and over the range. */
function Legend({ box, measure, frame, isHistory }: { box: RefObject<HTMLDivElement | null>; measure: Measure; frame: Frame | undefined; isHistory: boolean }) {
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const follow = (event: Event) => {
      const at = (event as CustomEvent<number | undefined>).detail
      table.current?.querySelectorAll<HTMLElement>('[data-cursor]').forEach((cell, index) => {
        const value = at === undefined ? undefined : frame?.lines[index]?.[at]
        cell.textContent = value === undefined ? '' : measure.write(value)
      })
      const head = table.current?.querySelector<HTMLElement>('[data-at]')
      const time = at === undefined ? undefined : frame?.times[at]
      if (head) head.textContent = time === undefined ? '' : clock(time * 1000)
    }
    element.addEventListener('weir-cursor', follow)
    return () => element.removeEventListener('weir-cursor', follow)
  }, [box, measure, frame])
  const isEmpty = frame !== undefined && frame.lines.every((line) => line.every((value) => value === null))
  return (
    <>
      <table className={css.legend} ref={table}>
        <thead>
          <tr>
            <th scope="col"><span className="hidden">Line</span><span data-at /></th>
            <td />
            <th scope="col">Mean</th>
            <th scope="col">Most</th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {measure.lines.map((line, index) => {
            const { mean, most, last } = summaryOf(frame?.lines[index] ?? [])
            return (
              <tr key={line.key}>
                <th scope="row"><i data-colour={line.colour} data-dashed={line.dash !== undefined} />{line.name}</th>
                <td data-cursor />
                <td>{measure.write(mean)}</td>
                <td>{measure.write(most)}</td>
                <td>{measure.write(last)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {isHistory && isEmpty && <p className={css.nothing}>Nothing was counted in this time. The history begins with the first request, and new samples come every 15 to 60 s.</p>}
    </>
  )
}
