import { useMemo } from 'react'
import { useLive } from '../api/live'
import { useMarks } from '../api/marks'
import { useServices } from '../api/objects'
import { seriesOf } from '../api/series'
import { type Engine, type EngineRuntime, nameOf } from '../api/types'
import { useData, useTenant } from '../api/useData'
import { useUsual } from '../api/useUsual'
import { metricsOf } from '../chart/band'
import { Chart } from '../chart/Chart'
import { Happened } from '../chart/Happened'
import { Page } from '../part/Page'
import { Panel, Reasons, Tile, Tiles } from '../part/Panel'
import { Score } from '../part/Score'
import { Shown } from '../part/Shown'
import { State } from '../part/State'
import { age, bytes, count, percent } from '../time/format'
import { Link } from '../url/Link'
import { useRange } from '../url/useRange'
import css from './engine.module.css'
import { EngineActions } from './EngineActions'
import { busy, seatsOf } from './load'
import { measuresOf } from './measures'
import { Routers } from './Routers'
import { Workers } from './Workers'

export default function EnginePage({ uuid }: { uuid: string }) {
  const live = useLive('engines')
  const engine = useData<Engine>(`/api/serviceengine/${uuid}?join_subresources=runtime&include_name`, 2000)
  const series = seriesOf(`${useTenant()} ${uuid}`)
  const measures = useMemo(() => measuresOf(uuid), [uuid])
  const range = useRange()
  const marks = useMarks([uuid], range)
  const usual = useUsual('serviceengine', uuid, metricsOf(measures), range)
  const runtime = engine.value?.runtime
  const name = engine.value?.name ?? (engine.error ? 'Engine' : '…')
  return (
    <Page title={name} lead={<>{runtime && <State state={runtime.oper_status.state} reasons={runtime.oper_status.reason} />}<Score of={runtime?.health_score} kind="serviceengine" uuid={uuid} name={name} />{engine.value && <EngineActions of={engine.value} />}</>}>
      <Shown of={engine} what="this engine">
        {(value) => (
          <>
            <Head of={value} />
            {value.runtime && <Now of={value.runtime} />}
            <div className={css.charts}>
              {measures.slice(0, 2).map((measure) => <Chart key={measure.key} measure={measure} {...(live.mode === 'poll' ? {} : { series })} of={value.name} marks={marks} usual={usual} />)}
            </div>
            <div className={css.charts}>
              <Workers of={value.runtime} />
              <Seats uuid={uuid} name={value.name} />
            </div>
            <Routers of={value.runtime} />
            <div className={css.charts}>
              {measures.slice(2).map((measure) => <Chart key={measure.key} measure={measure} {...(live.mode === 'poll' ? {} : { series })} of={value.name} marks={marks} usual={usual} />)}
            </div>
            <Happened marks={marks} />
          </>
        )}
      </Shown>
    </Page>
  )
}

function Head({ of }: { of: Engine }) {
  const runtime = of.runtime
  const refused = (runtime?.refusal?.errors ?? []).map((error) => `refused revision ${runtime?.refusal?.revision}: ${error.name}: ${error.field}: ${error.message}`)
  return (
    <div>
      <p className={css.head}>
        {runtime?.resources && <span>{`${runtime.resources.hostname}, ${runtime.resources.num_vcpus} cores, ${bytes(runtime.resources.memory_bytes)}`}</span>}
        {runtime?.resources && <span>{runtime.resources.addresses.join(' ')}</span>}
        {nameOf(of.se_group_ref) && <span>{`group ${nameOf(of.se_group_ref)}`}</span>}
        {runtime?.version && <span>{`version ${runtime.version}`}</span>}
        {runtime && <span data-look={runtime.applied.current ? undefined : 'attention'}>{runtime.applied.current ? 'has the newest Plan' : 'has an older Plan'}</span>}
      </p>
      {of.description && <p>{of.description}</p>}
      <Reasons of={[...(runtime?.oper_status.reason ?? []), ...refused]} />
    </div>
  )
}

function Now({ of }: { of: EngineRuntime }) {
  const rates = of.counters?.per_second
  const memory = of.resources?.memory_bytes
  return (
    <Tiles>
      <Tile name="CPU busy" value={percent(busy(of))} title="CPU time of the data plane, of what its workers can use" />
      <Tile name="Memory" value={bytes(of.dataplane.rss_bytes)} title={memory ? `Of the data plane: ${percent((of.dataplane.rss_bytes ?? 0) / memory)} of the machine` : undefined} />
      <Tile name="Requests/s" value={count(rates?.['requests'])} />
      <Tile name="Connections/s" value={count(rates?.['connections'])} />
      <Tile name="Open connections" value={count(of.counters?.['open_connections'])} />
      <Tile name="Data plane" value={of.dataplane.state} title={of.dataplane.reason || undefined} />
      <Tile name="Runs for" value={age(of.dataplane.since)} title="Since its data plane was started" />
      <Tile name="Restarts" value={count(of.dataplane.restarts)} title="Of its data plane" />
      <Tile name="Connected for" value={of.se_connected ? age(of.since) : 'not connected'} />
    </Tiles>
  )
}

function Seats({ uuid, name }: { uuid: string; name: string }) {
  const services = useServices(5000)
  return (
    <Panel title="Virtual services" note="that it has been given">
      <Shown of={services} what="the virtual services">
        {({ results }) => {
          const seats = seatsOf(uuid, results)
          if (seats.length === 0) return <p className={css.none}>{`${name} serves nothing. The controller gives it what needs an engine.`}</p>
          return (
            <ul className={css.list}>
              {seats.map((service) => {
                const seat = service.runtime?.service_engine?.find((one) => one.uuid === uuid)
                return (
                  <li key={service.uuid}>
                    <State state={seat?.oper_status.state ?? ''} reasons={seat?.oper_status.reason} />
                    <Link to={`/services/${service.uuid}`} className={css.grow}>{service.name}</Link>
                    <span>{`${seat?.role}, ${seat?.state} for ${age(seat?.since)}`}</span>
                    {seat?.connections_percent !== undefined && <span title="Its share of the connections">{`${seat.connections_percent} %`}</span>}
                  </li>
                )
              })}
            </ul>
          )
        }}
      </Shown>
    </Panel>
  )
}
