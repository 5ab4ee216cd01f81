import type { ServiceRuntime } from '../api/types'
import { Reasons } from '../part/Panel'
import { State } from '../part/State'
import { age } from '../time/format'
import { Link } from '../url/Link'
import css from './service.module.css'

/** The engines of a virtual service. */
export function Engines({ runtime }: { runtime: ServiceRuntime | undefined }) {
  const seats = runtime?.service_engine ?? []
  if (seats.length === 0) {
    return <p className={css.none}>No engine has been given this virtual service. Its reasons above say why.</p>
  }
  return (
    <ul className={css.list}>
      {seats.map((seat) => (
        <li key={seat.uuid}>
          <div className={css.line}>
            <State state={seat.oper_status.state} reasons={seat.oper_status.reason} />
            <Link to={`/engines/${seat.uuid}`} className={css.grow}>
              <b>{seat.name}</b>
            </Link>
            <span>{seat.role}</span>
            <span>{`${seat.state} for ${age(seat.since)}`}</span>
            {seat.connections_percent !== undefined && <span title="Its share of the connections">{`${seat.connections_percent} %`}</span>}
            <span className={css.dim}>{seat.applied ? 'applied' : 'not applied yet'}</span>
          </div>
          <Reasons of={seat.oper_status.reason} />
        </li>
      ))}
    </ul>
  )
}
