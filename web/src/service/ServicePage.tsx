import { useEffect, useMemo } from 'react'
import { appliedText, figuresOf } from '../api/figures'
import { useLive } from '../api/live'
import { portsOf, useVips } from '../api/objects'
import { pointOf, type Series, seriesOf } from '../api/series'
import { nameOf, type Pool, type Service, type ServiceRuntime, uuidOf } from '../api/types'
import { useData, useTenant } from '../api/useData'
import { type Line, TimeChart } from '../chart/TimeChart'
import { TimingBar } from '../chart/TimingBar'
import { Page } from '../part/Page'
import { Panel, Reasons, Tile, Tiles } from '../part/Panel'
import { Shown } from '../part/Shown'
import { State } from '../part/State'
import { bytes, count, ms, percent } from '../time/format'
import { Engines } from './Engines'
import { Findings } from './Findings'
import { PoolTree } from './PoolTree'
import { ServiceActions } from './ServiceActions'
import css from './service.module.css'

export default function ServicePage({ uuid }: { uuid: string }) {
  const live = useLive(`vs:${uuid}`)
  const every = live.mode === 'stream' ? 5000 : 2000
  const service = useData<Service>(`/api/virtualservice/${uuid}?join_subresources=runtime&include_name`, every)
  const poolUUID = uuidOf(service.value?.pool_ref)
  const pool = useData<Pool>(poolUUID ? `/api/pool/${poolUUID}?join_subresources=runtime&include_name` : null, every)
  const series = seriesOf(`${useTenant()} ${uuid}`)
  const runtime = service.value?.runtime
  useEffect(() => {
    if (live.mode === 'poll' && runtime) series.add([pointOf(runtime, service.at)])
  }, [live.mode, runtime, service.at, series])
  const name = service.value?.name ?? (service.error ? 'Service' : '…')
  return (
    <Page title={name} lead={<>{runtime && <State state={runtime.oper_status.state} reasons={runtime.oper_status.reason} />}{service.value && <ServiceActions of={service.value} />}</>}>
      <Shown of={service} what="this virtual service">
        {(value) => (
          <div className={css.stack}>
            <Head of={value} />
            {value.runtime && <Now runtime={value.runtime} />}
            <Times runtime={value.runtime} />
            <Charts series={series} isPolled={live.mode === 'poll'} />
            <div className={css.two}>
              <Panel title="Pool and servers" note={nameOf(value.pool_ref) ? undefined : 'none'}>
                {poolUUID ? <Shown of={pool} what="the pool">{(found) => <PoolTree pool={found} />}</Shown> : <p className={css.none}>This virtual service has no pool of its own.</p>}
              </Panel>
              <Panel title="Engines" note={value.runtime?.applied?.text}>
                <Engines runtime={value.runtime} />
              </Panel>
            </div>
            <Findings runtime={value.runtime} />
          </div>
        )}
      </Shown>
    </Page>
  )
}

function Head({ of }: { of: Service }) {
  const vips = useVips()
  const parent = nameOf(of.vh_parent_vs_ref)
  return (
    <div>
      <p className={css.head}>
        <span>{parent ? `via ${parent}` : `${vips.get(uuidOf(of.vsvip_ref)) ?? ''} : ${portsOf(of)}`}</span>
        <span>{`applied on ${appliedText(of.runtime)} engines`}</span>
        {nameOf(of.tenant_ref) && <span>{`tenant ${nameOf(of.tenant_ref)}`}</span>}
      </p>
      {of.description && <p className={css.said}>{of.description}</p>}
      <Reasons of={of.runtime?.oper_status.reason} />
    </div>
  )
}

function Now({ runtime }: { runtime: ServiceRuntime }) {
  const figures = figuresOf(runtime)
  const rates = runtime.counters?.per_second ?? {}
  const perSecond = (name: string) => count(rates[name])
  return (
    <Tiles>
      <Tile name={figures.rateOf === 'requests' ? 'Requests/s' : figures.rateOf === 'datagrams' ? 'Datagrams/s' : 'Connections/s'} value={count(figures.rate)} />
      <Tile name="Errors (5xx)" value={percent(figures.errors)} title="Share of requests that were answered with 5xx. Below one request a second it says nothing." />
      <Tile name="p99" value={ms(figures.p99)} title="99 % of the requests of the last minute took less" />
      <Tile name="Open connections" value={count(figures.open)} />
      <Tile name="Connections/s" value={perSecond('connections')} title="New connections of clients" />
      <Tile name="Handshakes/s" value={perSecond('tls_handshakes')} title="Of TLS with clients, full and resumed" />
      <Tile name="Received" value={`${bytes(rates['received_bytes'])}/s`} title="Bytes from clients" />
      <Tile name="Sent" value={`${bytes(rates['sent_bytes'])}/s`} title="Bytes to clients" />
      <Tile name="Requests in all" value={count(runtime.counters?.['requests'])} title="As counted by the engines since this controller has led" />
    </Tiles>
  )
}

function Times({ runtime }: { runtime: ServiceRuntime | undefined }) {
  return (
    <Panel title="Where the time goes" note={runtime?.times?.total_ms && `${count(runtime.times.requests)} requests, mean ${ms(runtime.times.total_ms.mean)}`}>
      {runtime?.times?.total_ms ? <TimingBar times={runtime.times} /> : <p className={css.none}>No request has ended in the last minute. Times are those of HTTP requests; layer 4 has none.</p>}
    </Panel>
  )
}

const rates: Line[] = [
  { field: 'requests_per_s', name: 'Requests/s', colour: 'accent' },
  { field: 'errors_per_s', name: 'Errors/s', colour: 'bad', dash: [5, 3] },
]
const latencies: Line[] = [
  { field: 'p99_ms', name: 'p99', colour: 'bad' },
  { field: 'p95_ms', name: 'p95', colour: 'warn', dash: [8, 3] },
  { field: 'p50_ms', name: 'Median', colour: 'good', dash: [3, 3] },
]

function Charts({ series, isPolled }: { series: Series; isPolled: boolean }) {
  const note = useMemo(() => (isPolled ? 'last five minutes, since this page was first opened' : 'last five minutes'), [isPolled])
  return (
    <div className={css.two}>
      <Panel title="Requests" note={note}>
        <TimeChart series={series} lines={rates} write={count} label="Requests and errors per second" />
      </Panel>
      <Panel title="Latency" note={isPolled ? `${note}; each point is of the minute before it` : note}>
        <TimeChart series={series} lines={latencies} write={ms} label="Percentiles of the time of requests" />
      </Panel>
    </div>
  )
}
