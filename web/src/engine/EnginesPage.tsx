import { useLive } from '../api/live'
import { liveEngine } from '../api/liveRuntime'
import { useEngines, useServices } from '../api/objects'
import { type Engine, nameOf, type Service } from '../api/types'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { ScoreText } from '../part/Score'
import { Empty, Shown } from '../part/Shown'
import { State } from '../part/State'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { age, bytes, count, percent } from '../time/format'
import { ActLink, Actions } from '../form/Act'
import { Link } from '../url/Link'
import { useParam } from '../url/location'
import { AnycastMap } from './AnycastMap'
import { busy, seatsOf } from './load'

export default function EnginesPage() {
  const live = useLive('engines')
  const engines = useEngines(live.mode === 'stream' ? 5000 : 2000)
  const services = useServices(5000)
  const filter = useParam('f')
  return (
    <Page title="Infrastructure" lead={<Actions><ActLink kind="serviceengine" to="/settings/engines">Add an engine</ActLink></Actions>}>
      <Shown of={engines} what="the engines">
        {({ results: read }) => {
          const results = read.map((engine) => liveEngine(engine, live.engines.get(engine.uuid)))
          const shown = results.filter((engine) => matches(filter, [engine.name, nameOf(engine.se_group_ref), engine.runtime?.version, engine.runtime?.resources?.hostname, why(engine)]))
          if (results.length === 0) return <NoEngines />
          const columns = columnsOf(services.value?.results).filter((column) => column.key !== 'why' || results.some((engine) => why(engine) !== ''))
          return (
            <>
              <AnycastMap engines={results} />
              <Filter of="engines" shown={shown.length} total={results.length} />
              <Panel title="Engines" note="an agent and its data plane each" menu={<TableMenu of="Engines" rows={shown} columns={columns} />}>
                {shown.length === 0 ? <FilterHidesAll of="engines" /> : <Table label="Engines" rows={shown} columns={columns} id={(engine) => engine.uuid} first="name" />}
              </Panel>
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

function NoEngines() {
  return (
    <Empty title="No engine has joined yet">
      <Link to="/settings/engines">Let one join</Link>: a command on the machine that shall serve.
    </Empty>
  )
}

const columnsOf = (services: Service[] | undefined): Column<Engine>[] => [
  { key: 'name', head: 'Name', width: 'minmax(120px, 1fr)', sort: (engine) => engine.name, cell: (engine) => <Link to={`/engines/${engine.uuid}`} title={engine.runtime?.resources?.hostname}>{engine.name}</Link> },
  { key: 'state', head: 'State', width: '92px', sort: (engine) => engine.runtime?.oper_status.state, cell: (engine) => <State state={engine.runtime?.oper_status.state ?? ''} reasons={engine.runtime?.oper_status.reason} /> },
  { key: 'health', head: 'Health', width: '84px', sort: (engine) => engine.runtime?.health_score?.health_score ?? undefined, cell: (engine) => <ScoreText of={engine.runtime?.health_score} />, title: 'Health score, 0 to 100' },
  { key: 'cpu', head: 'CPU busy', number: true, width: '72px', sort: (engine) => busy(engine.runtime), cell: (engine) => percent(busy(engine.runtime)), title: 'CPU time of the data plane, of what its workers can use' },
  { key: 'memory', head: 'Memory', number: true, width: '76px', sort: (engine) => engine.runtime?.dataplane.rss_bytes, cell: (engine) => bytes(engine.runtime?.dataplane.rss_bytes) },
  { key: 'workers', head: 'Workers', number: true, width: '66px', sort: (engine) => engine.runtime?.dataplane.workers, cell: (engine) => count(engine.runtime?.dataplane.workers) },
  { key: 'open', head: 'Open', number: true, width: '58px', sort: (engine) => engine.runtime?.counters?.['open_connections'], cell: (engine) => count(engine.runtime?.counters?.['open_connections']), title: 'Connections of clients that are open now' },
  { key: 'rate', head: 'Req/s', number: true, width: '64px', sort: (engine) => engine.runtime?.counters?.per_second?.['requests'], cell: (engine) => count(engine.runtime?.counters?.per_second?.['requests']) },
  { key: 'seats', head: 'Services', number: true, width: '66px', sort: (engine) => services && seatsOf(engine.uuid, services).length, cell: (engine) => count(services && seatsOf(engine.uuid, services).length), title: 'Virtual services that it has been given' },
  { key: 'bgp', head: 'BGP', number: true, width: '50px', value: routers, cell: routers, title: 'Sessions with routers that are established, of all' },
  { key: 'applied', head: 'Applied', width: '98px', cell: (engine) => <span data-look={engine.runtime?.applied.current === false ? 'attention' : undefined}>{engine.runtime?.applied.current ? 'newest Plan' : 'an older Plan'}</span>, title: 'Whether it has confirmed the newest Plan' },
  { key: 'group', head: 'Group', width: 'minmax(96px, 1fr)', sort: (engine) => nameOf(engine.se_group_ref), cell: (engine) => nameOf(engine.se_group_ref) },
  { key: 'version', head: 'Version', width: 'minmax(60px, 1fr)', sort: (engine) => engine.runtime?.version, cell: (engine) => engine.runtime?.version || '–' },
  { key: 'up', head: 'Runs for', number: true, width: '66px', value: (engine) => engine.runtime?.dataplane.since, sort: (engine) => -Date.parse(engine.runtime?.dataplane.since ?? ''), cell: (engine) => age(engine.runtime?.dataplane.since), title: 'Since its data plane was started' },
  { key: 'why', head: 'Why', value: why, width: 'minmax(100px, 2fr)', cell: (engine) => <span title={why(engine)}>{why(engine)}</span> },
]

function routers(engine: Engine): string {
  const peers = engine.runtime?.bgp?.peers ?? []
  return peers.length ? `${peers.filter((peer) => peer.peer_state === 'Established').length}/${peers.length}` : '–'
}

function why(engine: Engine): string {
  const refused = (engine.runtime?.refusal?.errors ?? []).map((error) => `refused revision ${engine.runtime?.refusal?.revision}: ${error.name}: ${error.field}: ${error.message}`)
  const restarts = engine.runtime?.dataplane.restarts ?? 0
  return [...(engine.runtime?.oper_status.reason ?? []), ...refused, ...(restarts ? [`its data plane has restarted ${restarts} ${restarts === 1 ? 'time' : 'times'}`] : [])].join('; ')
}
