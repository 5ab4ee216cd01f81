import { type Engine, type Named } from '../api/types'
import { lookOf } from '../part/state'
import { Shape } from '../part/State'
import { Panel } from '../part/Panel'
import { percent } from '../time/format'
import { Link } from '../url/Link'
import css from './engine.module.css'
import { edgesOf, sharesOf } from './load'

const enginesMost = 24
const width = 900
const box = { width: 172, height: 40 }
const gap = 14
const widest = 18

/** Routers above, engines below; an edge is a BGP session, as wide as the share of the requests that the engine gets. */
export function AnycastMap({ engines }: { engines: Engine[] }) {
  const shown = engines.slice(0, enginesMost)
  const shares = sharesOf(engines)
  const edges = edgesOf(shown)
  const routers = [...new Set(edges.map((edge) => edge.router))].toSorted()
  const tops = routers.length ? routers : ['clients']
  const lines = routers.length ? edges : shown.map((engine) => ({ router: 'clients', engine: engine.uuid, isUp: engine.runtime?.oper_status.state === 'OPER_UP' }))
  const perRow = Math.floor((width + gap) / (box.width + gap))
  const rows = Math.ceil(shown.length / perRow)
  const height = 190 + (rows - 1) * (box.height + 30)
  const topAt = (at: number) => ({ x: (width * (at + 0.5)) / tops.length, y: 14 })
  const engineAt = (at: number) => {
    const row = Math.floor(at / perRow)
    const inRow = Math.min(perRow, shown.length - row * perRow)
    return { x: (width * ((at % perRow) + 0.5)) / inRow, y: 134 + row * (box.height + 30) }
  }
  const note = routers.length ? `${routers.length} ${routers.length === 1 ? 'router' : 'routers'}; as wide as the share of the requests` : 'no BGP: clients come straight to engines'
  return (
    <Panel title="Who gets the traffic" note={engines.length > enginesMost ? `${note}; the first ${enginesMost} of ${engines.length} engines` : note}>
      <div className={css.mapScroll} tabIndex={0} role="region" aria-label="Map of routers and engines">
        <svg className={css.map} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={sentence(shown, shares)}>
          {lines.map((edge) => {
            const from = topAt(tops.indexOf(edge.router))
            const to = engineAt(shown.findIndex((engine) => engine.uuid === edge.engine))
            const share = shares?.get(edge.engine) ?? 0
            const middle = (from.y + box.height + to.y) / 2
            return (
              <path
                key={`${edge.router} ${edge.engine}`}
                className={css.edge}
                data-up={edge.isUp}
                strokeWidth={edge.isUp ? 1.5 + share * widest : 1.5}
                d={`M${from.x} ${from.y + box.height} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`}
              />
            )
          })}
          {tops.map((top, at) => (
            <g key={top} transform={`translate(${topAt(at).x - box.width / 2} ${topAt(at).y})`}>
              <rect width={box.width} height={box.height} rx="6" />
              <text x={box.width / 2} y="25" textAnchor="middle">{routers.length ? `router ${top}` : 'clients'}</text>
            </g>
          ))}
          {shown.map((engine, at) => <EngineBox key={engine.uuid} engine={engine} share={shares?.get(engine.uuid)} at={engineAt(at)} />)}
        </svg>
      </div>
    </Panel>
  )
}

function EngineBox({ engine, share, at }: { engine: Engine; share: number | undefined; at: { x: number; y: number } }) {
  const { look } = lookOf(engine.runtime?.oper_status.state ?? '', engine.runtime?.oper_status.reason ?? [])
  return (
    <g transform={`translate(${at.x - box.width / 2} ${at.y})`}>
      <Link to={`/engines/${engine.uuid}`}>
        <rect width={box.width} height={box.height} rx="6" />
        <g transform="translate(10 14)" data-look={look}><svg width="12" height="12"><Shape look={look} /></svg></g>
        <text x="28" y="18">{short(engine)}</text>
        <text x="28" y="33" className={css.small}>{share === undefined ? 'no requests' : `${percent(share)} of the requests`}</text>
      </Link>
    </g>
  )
}

function short(engine: Named): string {
  return engine.name.length > 20 ? `${engine.name.slice(0, 19)}…` : engine.name
}

function sentence(engines: Engine[], shares: Map<string, number> | undefined): string {
  if (!shares) return `${engines.length} engines, no requests`
  return engines.map((engine) => `${engine.name} gets ${percent(shares.get(engine.uuid) ?? 0)} of the requests`).join(', ')
}
