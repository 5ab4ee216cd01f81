import { type Live, useLive } from '../api/live'
import { liveServer } from '../api/liveRuntime'
import { type Autoscale, nameOf, type Pool, type ServerRuntime, uuidOf } from '../api/types'
import { useData } from '../api/useData'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel, Reasons, Tile, Tiles } from '../part/Panel'
import { Score, ScoreText } from '../part/Score'
import { Empty, Shown } from '../part/Shown'
import { goodAllTheSame, slowText } from '../part/slow'
import { State } from '../part/State'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { age, count, ms, msRow } from '../time/format'
import { Link } from '../url/Link'
import { useParam } from '../url/location'
import { scalingOf } from './autoscale'
import { Charts } from './Charts'
import css from './pool.module.css'
import { PoolActions, ServerActions } from './PoolActions'
import { ServerPage } from './ServerPage'

export default function PoolPage({ uuid }: { uuid: string }) {
  const live = useLive(`pool:${uuid}`)
  const pool = useData<Pool>(`/api/pool/${uuid}?join_subresources=runtime&include_name`, live.mode === 'stream' ? 5000 : 2000)
  const runtime = pool.value?.runtime
  const server = useParam('server')
  if (server && pool.value) return <ServerPage pool={pool.value} id={server} />
  return (
    <Page
      title={pool.value?.name ?? (pool.error ? 'Pool' : '…')}
      lead={<>{runtime && <State state={runtime.oper_status.state} reasons={[...runtime.oper_status.reason, ...(runtime.servers ?? []).filter((one) => one.slow).map((one) => one.server_id)]} />}<Score of={runtime?.health_score} kind="pool" uuid={uuid} name={pool.value?.name ?? 'the pool'} />{pool.value && <PoolActions of={pool.value} />}</>}
    >
      <Shown of={pool} what="this pool">{(value) => <Content of={value} live={live} />}</Shown>
    </Page>
  )
}

function Content({ of, live }: { of: Pool; live: Live }) {
  const filter = useParam('f')
  const servers = (of.runtime?.servers ?? []).map((server) => liveServer(server, live.servers.get(server.server_id)))
  const shown = servers.filter((server) => matches(filter, [server.server_id, server.hostname, server.oper_status.state, ...reasonsOf(server)]))
  return (
    <>
      {of.description && <p>{of.description}</p>}
      <p>{`Algorithm: ${(of.lb_algorithm ?? '–').replace('LB_ALGORITHM_', '').replaceAll('_', ' ').toLowerCase()}. Monitors: ${(of.health_monitor_refs ?? []).map(nameOf).join(', ') || 'none'}.`}</p>
      <Reasons of={[...(of.runtime?.oper_status.reason ?? []), ...servers.flatMap((server) => (server.slow ? [`Server ${server.server_id} ${slowText(server.slow, server.slow.since)}`] : []))]} />
      {servers.some((server) => server.slow) && <p className={css.dim}>{goodAllTheSame(of.runtime?.health_score)}</p>}
      <Tiles>
        <Tile name="Servers up" value={`${of.runtime?.num_servers_up ?? '–'} of ${of.runtime?.num_servers_enabled ?? '–'}`} title="Of those that are enabled" />
        <Tile name="Servers" value={count(of.runtime?.num_servers)} />
      </Tiles>
      {of.runtime?.autoscale && <Scaling of={of.runtime.autoscale} />}
      <Filter of="servers" shown={shown.length} total={servers.length} />
      <Panel title="Servers" menu={<TableMenu of={`Servers of ${of.name}`} rows={shown} columns={columnsOf(of)} />}>
        {servers.length === 0 ? (
          <Empty title="This pool has no servers">The button above adds some.</Empty>
        ) : shown.length === 0 ? (
          <FilterHidesAll of="servers" />
        ) : (
          <Table label="Servers" rows={shown} columns={columnsOf(of)} id={(server) => server.server_id} first="state" />
        )}
      </Panel>
      <Charts uuid={of.uuid} of={of.name} />
    </>
  )
}

/** Why the pool gets or loses servers, or not. */
function Scaling({ of }: { of: Autoscale }) {
  return (
    <div>
      <p>
        <Link to={`/objects/serverautoscalepolicy/${uuidOf(of.policy_ref)}`}>Autoscale</Link>
      </p>
      {scalingOf(of).map((sentence) => (
        <p key={sentence} className={css.dim}>{sentence}</p>
      ))}
    </div>
  )
}

/** There only if a server has reasons, and in front: where the page is narrow, the last columns are out of sight. */
const why: Column<ServerRuntime> = { key: 'why', head: 'Why', value: (server) => reasonsOf(server).join('; '), width: 'minmax(150px, 3fr)', cell: (server) => <span title={reasonsOf(server).join('\n')}>{reasonsOf(server).join('; ')}</span> }

/** The columns; without the health of servers where none has a score. */
function columnsOf(pool: Pool): Column<ServerRuntime>[] {
  const hasScores = (pool.runtime?.servers ?? []).some((server) => server.health_score)
  return allColumnsOf(pool).filter((column) => hasScores || column.key !== 'health')
}

const allColumnsOf = (pool: Pool): Column<ServerRuntime>[] => [
  { key: 'server', head: 'Server', width: 'minmax(150px, 1fr)', sort: (server) => server.server_id, cell: (server) => <Link to={`/pools/${pool.uuid}?server=${encodeURIComponent(server.server_id)}`} title={server.hostname}>{server.server_id}</Link> },
  { key: 'state', head: 'State', width: '92px', value: (server) => server.oper_status.state, sort: rank, cell: (server) => <><State state={server.oper_status.state} reasons={reasonsOf(server)} />{server.slow && <span className={css.slow}>slow</span>}</> },
  ...(pool.runtime?.servers?.some((server) => reasonsOf(server).length > 0) ? [why] : []),
  { key: 'health', head: 'Health', width: '80px', sort: (server) => server.health_score?.health_score ?? undefined, cell: (server) => <ScoreText of={server.health_score} />, title: 'Health score, 0 to 100' },
  { key: 'since', head: 'For', number: true, width: '60px', title: 'How long it has been in this state', cell: (server) => age(server.oper_status.last_changed_time) },
  { key: 'rate', head: 'Req/s', number: true, width: '64px', sort: rate, cell: (server) => count(rate(server)) },
  { key: 'open', head: 'Open', number: true, width: '56px', sort: (server) => server.counters?.['open_connections'], cell: (server) => count(server.counters?.['open_connections']) },
  { key: 'failures', head: 'Failures', number: true, width: '68px', sort: (server) => server.counters?.['failures'], cell: (server) => count(server.counters?.['failures']), title: 'Connections and requests that failed because of the server, in all' },
  { key: 'app', head: 'App response', number: true, isWide: true, width: '96px', sort: (server) => server.times?.app_response_ms?.mean, cell: (server) => ms(server.times?.app_response_ms?.mean), title: 'The mean of the last minute: what the server needed by itself until an answer began, without the round trip' },
  { key: 'quantiles', head: 'p50 · p95 · p99', number: true, isWide: true, width: '150px', value: (server) => quantiles(server), sort: (server) => server.times?.app_response_ms?.p99, cell: (server) => quantiles(server), title: 'Half, 95 % and 99 % of the answers of the last minute began within these times. Sorts by p99' },
  { key: 'check', head: 'Check', number: true, width: '72px', sort: slowest, cell: (server) => ms(slowest(server)), title: 'What the slowest health check took last' },
  { key: 'act', head: 'Actions', width: '150px', cell: (server) => <ServerActions pool={pool} server={server} /> },
]

function quantiles(server: ServerRuntime): string {
  const times = server.times?.app_response_ms
  return msRow([times?.p50, times?.p95, times?.p99])
}

/** Those that are down come first, then those that are slow. */
function rank(server: ServerRuntime): number {
  if (server.oper_status.state !== 'OPER_UP') return 0
  return reasonsOf(server).length > 0 ? 1 : 2
}

function rate(server: ServerRuntime): number | undefined {
  const rates = server.counters?.per_second
  return rates?.['requests'] || rates?.['connections']
}

function slowest(server: ServerRuntime): number | undefined {
  const took = server.engines.flatMap((engine) => engine.monitors.map((monitor) => monitor.response_time_us / 1000))
  return took.length ? Math.max(...took) : undefined
}

/** Why a server is not up; otherwise, that it is slow, and which engines see it down although others see it up. */
function reasonsOf(server: ServerRuntime): string[] {
  if (server.oper_status.state !== 'OPER_UP') return server.oper_status.reason
  const unseen = server.engines
    .filter((engine) => engine.oper_status.state === 'OPER_DOWN')
    .map((engine) => `${engine.engine}: ${engine.oper_status.reason.join(', ')}`)
  if (!server.slow) return unseen
  return [slowText(server.slow, server.slow.since), ...unseen]
}
