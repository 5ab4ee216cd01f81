import { useMemo } from 'react'
import { figuresOf } from '../api/figures'
import { useMarks } from '../api/marks'
import type { Series } from '../api/series'
import type { ServiceRuntime } from '../api/types'
import { useUsual } from '../api/useUsual'
import { metricsOf } from '../chart/band'
import { Chart } from '../chart/Chart'
import { Happened } from '../chart/Happened'
import { TimingBar } from '../chart/TimingBar'
import { Panel, Tile, Tiles } from '../part/Panel'
import { bytes, count, ms, percent } from '../time/format'
import { setParam, useParam } from '../url/location'
import { useRange } from '../url/useRange'
import { Latency } from './Latency'
import { measuresOf } from './measures'
import css from './service.module.css'

/** What a virtual service does and did: where its time goes, figures that choose the chart, charts. */
export function Analytics({ uuid, poolUUID, name, runtime, series, isPolled }: { uuid: string; poolUUID: string; name: string; runtime: ServiceRuntime | undefined; series: Series; isPolled: boolean }) {
  const measures = useMemo(() => measuresOf(uuid), [uuid])
  const chosen = useParam('m') || 'requests'
  const first = measures.find((one) => one.key === chosen) ?? measures[0]
  const second = measures.find((one) => one.key === (first?.key === 'latency' || first?.key === 'engines' ? 'requests' : 'latency'))
  const range = useRange()
  const marks = useMarks([uuid, poolUUID], range)
  const usual = useUsual('virtualservice', uuid, metricsOf([first, second].filter((one) => one !== undefined)), range)
  const note = isPolled ? 'live since this page was opened' : undefined
  return (
    <>
      <Times runtime={runtime} />
      {runtime && <Now runtime={runtime} chosen={first?.key ?? ''} />}
      <div className={css.two}>
        {first && <Chart key={first.key} measure={first} series={series} of={name} note={note} marks={marks} usual={usual} />}
        {second && <Chart key={second.key} measure={second} series={series} of={name} note={note} marks={marks} usual={usual} />}
      </div>
      <Happened marks={marks} />
      <Latency uuid={uuid} name={name} />
    </>
  )
}

const rateNames = { requests: 'Requests/s', datagrams: 'Datagrams/s', connections: 'Connections/s' }

/** Figures of now. Each opens the chart that it belongs to. */
function Now({ runtime, chosen }: { runtime: ServiceRuntime; chosen: string }) {
  const figures = figuresOf(runtime)
  const rates = runtime.counters?.per_second ?? {}
  const total = runtime.times?.total_ms
  const open = (key: string) => ({ isOpen: chosen === key, onOpen: () => setParam('m', key === 'requests' ? '' : key) })
  return (
    <Tiles>
      <Tile name={rateNames[figures.rateOf]} value={count(figures.rate)} {...open(figures.rateOf === 'requests' ? 'requests' : 'connections')} />
      <Tile name="Errors (5xx)" value={percent(figures.errors)} title="Share of requests that were answered with 5xx. Below one request a second it says nothing." />
      <Tile name="p50" value={ms(total?.p50)} title="Half of the requests of the last minute took less" {...open('latency')} />
      <Tile name="p95" value={ms(total?.p95)} title="95 % of the requests of the last minute took less" />
      <Tile name="p99" value={ms(total?.p99)} title="99 % of the requests of the last minute took less" />
      <Tile name="Parts of the time" value={ms(total?.mean)} title="The mean, and what it consists of" {...open('parts')} />
      <Tile name="Open connections" value={count(figures.open)} {...open('open')} />
      <Tile name="Connections/s" value={count(rates['connections'])} title="New connections of clients" {...open('connections')} />
      <Tile name="Handshakes/s" value={count(rates['tls_handshakes'])} title="Of TLS with clients, full and resumed" {...open('tls')} />
      <Tile name="Sent" value={`${bytes(rates['sent_bytes'])}/s`} title="Bytes to clients" {...open('bytes')} />
      <Tile name="Received" value={`${bytes(rates['received_bytes'])}/s`} title="Bytes from clients" />
      <Tile name="Engines" value={String((runtime.service_engine ?? []).filter((seat) => seat.active_on_se).length)} title="That serve it now. Opens their number over time" {...open('engines')} />
      {runtime.health_score && <Tile name="Health" value={runtime.health_score.health_score === null ? '–' : String(runtime.health_score.health_score)} title={runtime.health_score.reason || 'Nothing costs points'} {...open('health')} />}
      <Tile name="Requests in all" value={count(runtime.counters?.['requests'])} title="As counted by the engines since this controller has led" />
    </Tiles>
  )
}

function Times({ runtime }: { runtime: ServiceRuntime | undefined }) {
  return (
    <Panel title="Where the time goes" note={runtime?.times?.total_ms && `${count(runtime.times.requests)} requests of the last ${Math.round(runtime.times.seconds)} s, mean ${ms(runtime.times.total_ms.mean)}`}>
      {runtime?.times?.total_ms ? <TimingBar times={runtime.times} /> : <p className={css.none}>No request has ended in the last minute. Times are those of HTTP requests; layer 4 has none.</p>}
    </Panel>
  )
}
