import { useState } from 'react'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { Table } from '../table/Table'
import { count, whole } from '../time/format'
import { setParam, setParams, useParam } from '../url/location'
import { setRange, useRange } from '../url/useRange'
import { type Answer, type Entry, useCounts, useEntries, useTops } from './ask'
import { columnsOf, idOf } from './columns'
import { Drawer } from './Drawer'
import { ExportMenu, useSaving } from './Export'
import type { Kind } from '../api/fields'
import { withTerm } from '../api/filter'
import { Histogram } from './Histogram'
import { Kept } from './Kept'
import { Narrow } from './Narrow'
import css from './record.module.css'
import { Search } from './Search'

const sizes = [100, 500, 2000, 10_000]
const followMs = 2000
const followSlowMs = 10_000

/** Finds records: what is searched stands in the URL, and so does the record that is open. */
export function Explorer({ kind, service = '', of }: { kind: Kind; service?: string; of: string }) {
  const range = useRange()
  const filter = useParam('f')
  const selected = useParam('sel')
  const follows = useParam('follow') !== 'off' && range.kind !== 'fixed'
  const [size, setSize] = useState(sizes[0]!)
  const { saving, setSaving, running, line } = useSaving()
  const question = { kind, service, text: filter, range, everyMs: follows ? followMs : Infinity }
  const slow = { ...question, everyMs: follows ? followSlowMs : Infinity }
  const entries = useEntries(question, size)
  const counts = useCounts(slow)
  const tops = useTops(slow)
  const change = (next: string) => setParams({ f: next, sel: '' }, 'push')
  const pick = (name: string, value: string, isNegative: boolean) => {
    const field = kind.fields.find((one) => one.name === name)
    if (field) change(withTerm(filter, field, value, isNegative))
  }
  const results = entries.value?.results ?? []
  const open = results.find((entry) => idOf(entry) === selected)
  return (
    <>
      <Search kind={kind} text={filter} onText={change} follows={follows} canFollow={range.kind !== 'fixed'} />
      <Shown of={entries} what={`the ${kind.name}`}>
        {(answer) => (
          <>
            <Said answer={answer} kind={kind} isLive={range.kind === 'live'} />
            <Panel title={`${kind.name[0]!.toUpperCase()}${kind.name.slice(1)} over time`} note="drag to zoom in; Back undoes it">
              <Shown of={counts} what="their number over time">{(counted) => <Histogram counted={counted} kind={kind} onRange={setRange} />}</Shown>
            </Panel>
            <div className={css.two}>
              <Panel title="Narrow down"><Shown of={tops} what="the most frequent values">{(found) => <Narrow kind={kind} tops={found} total={answer.weight ?? answer.count} onPick={pick} />}</Shown></Panel>
              <Panel title="Newest first" note={answer.count > answer.results.length ? `${answer.results.length} of ${count(answer.count)}` : undefined} menu={<ExportMenu question={question} of={of} isBusy={saving.isBusy} onSaving={setSaving} running={running} />}>
                {line}
                {answer.results.length === 0 ? (
                  <Nothing kind={kind} service={service} of={of} isFiltered={filter !== ''} />
                ) : (
                  <>
                    <Table label={`Records of ${kind.name}`} rows={answer.results} columns={columnsOf(kind, service !== '', answer.results)} id={idOf} first="" isPlain onOpen={(entry) => setParam('sel', idOf(entry), 'push')} />
                    <NextSize of={answer} size={size} onSize={setSize} />
                  </>
                )}
              </Panel>
            </div>
          </>
        )}
      </Shown>
      {selected && <Drawer kind={kind} id={selected} entry={open} onPick={pick} onClose={() => setParam('sel', '')} />}
    </>
  )
}

/** How much there is, how much of it was read, and what is missing. */
function Said({ answer, kind, isLive }: { answer: Answer<Entry>; kind: Kind; isLive: boolean }) {
  const missing = answer.missing
  return (
    <p className={css.said} role="status">
      <span>
        <b>{whole(answer.count)}</b>
        {answer.weight !== undefined && answer.weight !== answer.count ? <> kept, standing for <b>{whole(answer.weight)}</b></> : ` ${kind.name}`}
        {isLive && ` in the last ${kind.liveS < 86_400 ? `${kind.liveS / 60} minutes` : `${kind.liveS / 86_400} days`}`}
      </span>
      {answer.unrecorded ? <span title="They were above the throttle. The next record that is kept stands for them, too">{`${whole(answer.unrecorded)} newer ones have no record yet`}</span> : null}
      {answer.percent_remaining > 0 && <span>{`${(100 - answer.percent_remaining).toFixed(0)} % of the range was read in time: the newest`}</span>}
      {missing?.lost ? <span data-look="attention">{`${count(missing.lost)} were lost before they were stored`}</span> : null}
      {missing?.refused ? <span data-look="attention">{`${count(missing.refused)} could not be stored`}</span> : null}
      {missing?.reason && <span data-look="attention">{missing.reason}</span>}
    </p>
  )
}

function Nothing({ kind, service, of, isFiltered }: { kind: Kind; service: string; of: string; isFiltered: boolean }) {
  if (kind.type === 2 && !isFiltered) return <Empty title="Nothing has happened in this time">The controller notes here what comes up, goes down and moves.</Empty>
  return (
    <Empty title={isFiltered ? `The search finds no ${kind.name} in this time` : `There are no ${kind.name} in this time`}>
      {isFiltered && <button className={css.button} onClick={() => setParam('f', '', 'push')}>Clear the search</button>}
      {kind.type !== 2 && <p><Kept of={service} name={of} /></p>}
    </Empty>
  )
}

function NextSize({ of, size, onSize }: { of: Answer<Entry>; size: number; onSize: (size: number) => void }) {
  const next = sizes.find((one) => one > size)
  if (of.count <= of.results.length || next === undefined) return null
  return <p className={css.more}><button className={css.button} onClick={() => onSize(next)}>{`Show ${next}`}</button></p>
}
