import type { EngineRuntime } from '../api/types'
import { Panel } from '../part/Panel'
import { State } from '../part/State'
import { age, count } from '../time/format'
import css from './engine.module.css'

const strays: [string, string][] = [
  ['strays', 'Packets that reached this engine and belong to another one'],
  ['passed_on', 'Of these, those that it passed on'],
  ['taken', 'Packets that other engines passed on to it'],
  ['unowned', 'Packets that no engine knew'],
  ['dropped', 'Packets that it dropped'],
]

/** The BGP sessions of an engine, what it announces, and packets that reached the wrong engine. */
export function Routers({ of }: { of: EngineRuntime | undefined }) {
  const peers = of?.bgp?.peers ?? []
  const routes = of?.bgp?.advertised_routes ?? []
  if (peers.length === 0) return null
  return (
    <div className={css.charts}>
      <Panel title="Routers" note="BGP sessions">
        <ul className={css.list}>
          {peers.map((peer) => (
            <li key={peer.peer_ip}>
              <State state={peer.peer_state === 'Established' ? 'OPER_UP' : 'OPER_DOWN'} />
              <b className={css.grow}>{peer.peer_ip}</b>
              <span>{`AS ${peer.remote_as ?? '–'}`}</span>
              <span>{`${peer.peer_state} for ${age(peer.since)}`}</span>
              {peer.bfd_state && peer.bfd_state !== 'OFF' && <span>{`BFD ${peer.bfd_state}`}</span>}
              {peer.reason && <span>{peer.reason}</span>}
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Announced" note={`${routes.length} ${routes.length === 1 ? 'route' : 'routes'}`}>
        {routes.length === 0 && <p className={css.none}>It announces no address.</p>}
        <ul className={css.list}>
          {routes.slice(0, 50).map((route) => (
            <li key={route.prefix}>
              <code className={css.grow}>{route.prefix}</code>
              <span>{`to ${route.peers.join(', ')}`}</span>
              <span>{`for ${age(route.since)}`}</span>
            </li>
          ))}
        </ul>
        {of?.detours && (
          <p className={css.none}>
            {strays.map(([key, says]) => <span key={key} title={says}>{`${key.replace('_', ' ')} ${count(of.detours?.[key])}  `}</span>)}
          </p>
        )}
      </Panel>
    </div>
  )
}
