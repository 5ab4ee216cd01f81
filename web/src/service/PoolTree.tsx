import type { Pool, ServerRuntime } from '../api/types'
import { Reasons } from '../part/Panel'
import { slowText } from '../part/slow'
import { State } from '../part/State'
import { count } from '../time/format'
import { Link } from '../url/Link'
import css from './service.module.css'

const serversMost = 50

/** A pool with its servers, first those that are not up, then those that are slow. */
export function PoolTree({ pool }: { pool: Pool }) {
  const runtime = pool.runtime
  const servers = (runtime?.servers ?? []).toSorted((a, b) => rank(a) - rank(b))
  return (
    <ul className={css.list}>
      <li>
        <div className={css.line}>
          <State state={runtime?.oper_status.state ?? ''} reasons={[...(runtime?.oper_status.reason ?? []), ...servers.filter((server) => server.slow).map((server) => server.server_id)]} />
          <Link to={`/pools/${pool.uuid}`} className={css.grow}>
            <b>{pool.name}</b>
          </Link>
          <span>{`${runtime?.num_servers_up ?? '–'} of ${runtime?.num_servers_enabled ?? '–'} servers up`}</span>
        </div>
        <Reasons of={runtime?.oper_status.reason} />
      </li>
      {servers.slice(0, serversMost).map((server) => (
        <li key={server.server_id}>
          <div className={`${css.line} ${css.tree}`}>
            <State state={server.oper_status.state} reasons={server.slow ? ['slow'] : []} />
            <span className={css.grow}>
              <Link to={`/pools/${pool.uuid}?server=${encodeURIComponent(server.server_id)}`} title={server.hostname}>{server.server_id}</Link>
              {server.slow && <small> slow</small>}
            </span>
            <span title="Requests per second">{`${count(server.counters?.per_second?.['requests'] ?? server.counters?.per_second?.['connections'])}/s`}</span>
            <span title="Open connections">{`${count(server.counters?.['open_connections'])} open`}</span>
          </div>
          {rank(server) < 2 && <div className={css.tree}><Reasons of={server.slow ? [slowText(server.slow, server.slow.since)] : server.oper_status.reason} /></div>}
        </li>
      ))}
      {servers.length > serversMost && (
        <li>
          <Link to={`/pools/${pool.uuid}`}>{`${servers.length - serversMost} more servers`}</Link>
        </li>
      )}
    </ul>
  )
}

function rank(server: ServerRuntime): number {
  if (server.oper_status.state !== 'OPER_UP') return 0
  return server.slow ? 1 : 2
}
