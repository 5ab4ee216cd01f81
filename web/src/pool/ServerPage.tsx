import { nameOf, type Pool, type ServerRuntime, uuidOf } from '../api/types'
import { Page } from '../part/Page'
import { Panel, Reasons, Tile, Tiles } from '../part/Panel'
import { Empty } from '../part/Shown'
import { slowText } from '../part/slow'
import { State } from '../part/State'
import { age, count, ms } from '../time/format'
import { Link } from '../url/Link'
import { Charts } from './Charts'
import css from './pool.module.css'
import { ServerActions } from './PoolActions'

/** One server of a pool: what engines say of it, and what they count. */
export function ServerPage({ pool, id }: { pool: Pool; id: string }) {
  const server = (pool.runtime?.servers ?? []).find((one) => one.server_id === id)
  return (
    <Page title={id} lead={server && <><State state={server.oper_status.state} reasons={server.slow ? ['slow'] : []} />{server.slow && <span className={css.slow}>slow</span>}<ServerActions pool={pool} server={server} /></>}>
      <p>
        <Link to={`/pools/${pool.uuid}`} className={css.back}>{`Pool ${pool.name}`}</Link>
        {server && server.hostname !== id && ` · ${server.hostname}`}
      </p>
      {server ? <Content pool={pool} server={server} /> : <Empty title={`The pool has no server ${id} any more`}>Its history is below.</Empty>}
      <Charts uuid={pool.uuid} server={id} of={`${pool.name} ${id}`} />
    </Page>
  )
}

function Content({ pool, server }: { pool: Pool; server: ServerRuntime }) {
  const monitors = new Map((pool.health_monitor_refs ?? []).map((reference) => [uuidOf(reference), nameOf(reference)]))
  const times = server.times?.app_response_ms
  const rates = server.counters?.per_second
  return (
    <>
      <Reasons of={server.oper_status.state !== 'OPER_UP' ? server.oper_status.reason : server.slow ? [`It ${slowText(server.slow, server.slow.since)}`] : []} />
      <Tiles>
        <Tile name={server.oper_status.state === 'OPER_UP' ? 'Up for' : 'In this state for'} value={age(server.oper_status.last_changed_time)} />
        <Tile name="Requests/s" value={count(rates?.['requests'])} />
        <Tile name="Open connections" value={count(server.counters?.['open_connections'])} />
        <Tile name="App response, mean" value={ms(times?.mean)} title="The mean of the last minute: what the server needed by itself until an answer began, without the round trip" />
        <Tile name="p50" value={ms(times?.p50)} title="Half of the answers of the last minute began within this time" />
        <Tile name="p95" value={ms(times?.p95)} title="95 % of the answers of the last minute began within this time" />
        <Tile name="p99" value={ms(times?.p99)} title="99 % of the answers of the last minute began within this time" />
        <Tile name="Connect, mean" value={ms(server.times?.connect_ms?.mean)} />
        <Tile name="Failures in all" value={count(server.counters?.['failures'])} />
      </Tiles>
      <Panel title="Health checks" note="what each engine sees">
        <div className={css.scroll} tabIndex={0} role="region" aria-label="Health checks: rows">
          <table className={css.monitors}>
            <thead>
              <tr>{['Engine', 'Finds it', 'Monitor', 'Took', 'Says'].map((head) => <th key={head} scope="col">{head}</th>)}</tr>
            </thead>
            <tbody>{server.engines.flatMap((seen) => rowsOf(seen, monitors))}</tbody>
          </table>
        </div>
      </Panel>
    </>
  )
}

function rowsOf(seen: ServerRuntime['engines'][number], monitors: Map<string, string>) {
  const state = <State state={seen.oper_status.state} reasons={[]} />
  if (seen.monitors.length === 0) {
    return [<tr key={seen.engine}><th scope="row">{seen.engine}</th><td>{state}</td><td>none</td><td>–</td><td>{seen.oper_status.reason.join('; ')}</td></tr>]
  }
  return seen.monitors.map((monitor, at) => (
    <tr key={`${seen.engine} ${at}`}>
      <th scope="row">{at === 0 ? seen.engine : ''}</th>
      <td>{at === 0 && state}</td>
      <td>{monitors.get(uuidOf(monitor.health_monitor_ref)) || uuidOf(monitor.health_monitor_ref)}</td>
      <td>{ms(monitor.response_time_us / 1000)}</td>
      <td>{monitor.up ? monitor.reason || 'up' : monitor.reason}</td>
    </tr>
  ))
}
