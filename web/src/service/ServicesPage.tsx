import { useMemo } from 'react'
import { appliedText, type Figures, figuresOf, needOf, needs } from '../api/figures'
import { type Live, type ServiceLine, useLive } from '../api/live'
import { portsOf, useServices, useVips } from '../api/objects'
import { nameOf, type Service, uuidOf } from '../api/types'
import { Spark } from '../chart/Spark'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { ScoreText } from '../part/Score'
import { Empty, Shown } from '../part/Shown'
import { slowText } from '../part/slow'
import { State } from '../part/State'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { useStill } from '../table/useStill'
import { count, msRow, percent } from '../time/format'
import { Link } from '../url/Link'
import { setParam, useParam } from '../url/location'
import css from './service.module.css'

const noPoints: (number | null)[] = []

/** One virtual service as the table shows it. */
export interface Row {
  service: Service
  figures: Figures
  address: string
  line: ServiceLine | undefined
  recent: (number | null)[]
}

export default function ServicesPage() {
  const live = useLive('overview')
  const services = useServices(live.mode === 'stream' ? 5000 : 2000)
  const vips = useVips()
  const filter = useParam('f')
  const state = useParam('state')
  const rows = useRows(useStill(services.value)?.results ?? none, useStill(live), vips)
  const shown = useMemo(() => rows.filter((row) => isWanted(row, state, filter)), [rows, state, filter])
  return (
    <Page title="Services">
      <Shown of={services} what="the virtual services">
        {() => {
          if (rows.length === 0) return <NoServices />
          return (
            <>
              <div className={css.tools}>
                <Filter of="services" shown={shown.length} total={rows.length} />
                <States rows={rows} chosen={state} />
              </div>
              {shown.length === 0 ? <FilterHidesAll of="services" /> : <Rows rows={shown} />}
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

const none: Service[] = []

/** The rows of services. One that has not changed is the same as before, so that the table does not make it again. */
function useRows(services: Service[], live: Live, vips: Map<string, string>): Row[] {
  const known = useMemo(() => new WeakMap<Service, Row>(), [vips])
  return useMemo(
    () =>
      services.map((service) => {
        const before = known.get(service)
        if (before && before.line === live.lines.get(service.uuid)) return before
        const row = rowOf(service, live, vips)
        known.set(service, row)
        return row
      }),
    [services, live, vips, known],
  )
}

function isWanted(row: Row, state: string, filter: string): boolean {
  if (state && row.service.runtime?.oper_status.state !== `OPER_${state}`) return false
  if (filter === '') return true
  return matches(filter, [row.service.name, row.address, row.service.description, reasonsOf(row).join(' '), nameOf(row.service.pool_ref)])
}

export function rowOf(service: Service, live: Live, vips: Map<string, string>): Row {
  const line = live.lines.get(service.uuid)
  const vip = vips.get(uuidOf(service.vsvip_ref)) ?? ''
  const parent = nameOf(service.vh_parent_vs_ref)
  return {
    service,
    figures: figuresOf(service.runtime, line),
    address: parent ? `via ${parent}` : `${vip} : ${portsOf(service)}`,
    line,
    recent: line?.recent_requests_per_s ?? noPoints,
  }
}

function NoServices() {
  return (
    <Empty title="There are no virtual services yet">
      A virtual service is an address that engines serve. <Link to="/new">Create one</Link>.
    </Empty>
  )
}

function States({ rows, chosen }: { rows: Row[]; chosen: string }) {
  const counts = new Map<string, number>()
  for (const { service } of rows) {
    const state = (service.runtime?.oper_status.state ?? 'OPER_UNKNOWN').replace('OPER_', '')
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return (
    <div className={css.chips} role="group" aria-label="Show only one state">
      {[...counts].toSorted().map(([state, number]) => (
        <button key={state} aria-pressed={state === chosen} onClick={() => setParam('state', state === chosen ? '' : state)}>
          <State state={`OPER_${state}`} /> {number}
        </button>
      ))}
    </div>
  )
}

const columns: Column<Row>[] = [
  { key: 'name', head: 'Name', width: 'minmax(120px, 1.6fr)', sort: (row) => row.service.name, cell: (row) => <Link to={`/services/${row.service.uuid}`}>{row.service.name}</Link> },
  { key: 'need', head: 'State', width: '84px', value: (row) => row.service.runtime?.oper_status.state, sort: (row) => needs.indexOf(needOf(row.service, row.figures)), cell: (row) => <State state={row.service.runtime?.oper_status.state ?? ''} reasons={reasonsOf(row)} />, title: 'Sorts by need of attention: down, errors, degraded, slow' },
  { key: 'health', head: 'Health', width: '84px', sort: (row) => row.service.runtime?.health_score?.health_score ?? undefined, cell: (row) => <ScoreText of={row.service.runtime?.health_score} />, title: 'Health score, 0 to 100; its reasons are on the page of the service' },
  { key: 'address', head: 'Address', width: 'minmax(200px, 1.4fr)', sort: (row) => row.address, cell: (row) => <span title={row.address}>{row.address}</span> },
  { key: 'rate', head: 'Req/s', number: true, width: '80px', sort: (row) => row.figures.rate, cell: (row) => <Rate of={row.figures} />, title: 'Requests per second; at layer 4 connections, with UDP datagrams' },
  { key: 'recent', head: 'Last minute', width: '106px', cell: (row) => <Spark values={row.recent} /> },
  { key: 'errors', head: 'Errors', number: true, width: '60px', sort: (row) => row.figures.errors, cell: (row) => <Errors share={row.figures.errors} />, title: 'Share of requests that were answered with 5xx' },
  { key: 'p99', head: 'p50 · p95 · p99', number: true, isWide: true, width: '136px', value: (row) => msRow([row.figures.p50, row.figures.p95, row.figures.p99]), sort: (row) => row.figures.p99, cell: (row) => msRow([row.figures.p50, row.figures.p95, row.figures.p99]), title: 'Half, 95 % and 99 % of requests took less. Sorts by p99' },
  { key: 'open', head: 'Open', number: true, width: '54px', sort: (row) => row.figures.open, cell: (row) => count(row.figures.open), title: 'Connections of clients that are open now' },
  { key: 'applied', head: 'Applied', number: true, width: '64px', sort: (row) => appliedShare(row.service), cell: (row) => <Applied of={row.service} />, title: 'On how many of its engines the newest configuration is in force' },
  { key: 'why', head: 'Why', value: (row) => reasonsOf(row).join('; '), width: 'minmax(120px, 2fr)', cell: (row) => <span className={css.why} title={reasonsOf(row).join('\n')}>{reasonsOf(row).join('; ')}</span> },
]

export function Rows({ rows }: { rows: Row[] }) {
  const streamed = rows.some((row) => row.recent.length > 0)
  const shown = useMemo(() => columns.filter((column) => streamed || column.key !== 'recent'), [streamed])
  return (
    <Panel title="Virtual services" menu={<TableMenu of="Virtual services" rows={rows} columns={shown} />}>
      <Table label="Virtual services" rows={rows} columns={shown} id={(row) => row.service.uuid} first="need" isPlain />
    </Panel>
  )
}

const units = { requests: '', connections: ' conn', datagrams: ' dgram' }

function Rate({ of }: { of: Figures }) {
  return (
    <>
      {count(of.rate)}
      {of.rate !== undefined && <small>{units[of.rateOf]}</small>}
    </>
  )
}

function Errors({ share }: { share: number | undefined }) {
  return <span data-look={(share ?? 0) >= 0.01 ? 'bad' : undefined}>{percent(share)}</span>
}

function appliedShare(service: Service): number | undefined {
  const applied = service.runtime?.applied
  return applied && applied.engines_total > 0 ? applied.engines_applied / applied.engines_total : undefined
}

function Applied({ of }: { of: Service }) {
  const share = appliedShare(of)
  return <span data-look={share !== undefined && share < 1 ? 'attention' : undefined}>{appliedText(of.runtime)}</span>
}

function reasonsOf({ service, figures }: Row): string[] {
  return [...(service.runtime?.oper_status.reason ?? []), ...figures.slow.map((server) => `${server.id} ${slowText(server, server.since_ms)}`)]
}
