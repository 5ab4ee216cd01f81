import { useEffect, useMemo } from 'react'
import { type Figures, figuresOf, type Need, needOf, needs } from '../api/figures'
import { type Live, type SlowServer, useLive } from '../api/live'
import { useEngines, useServices } from '../api/objects'
import { useSession } from '../api/session'
import type { Engine, Service } from '../api/types'
import { Spark } from '../chart/Spark'
import { Page } from '../part/Page'
import { Panel, Tile, Tiles } from '../part/Panel'
import { ScoreText } from '../part/Score'
import { Empty, Shown } from '../part/Shown'
import { slowText } from '../part/slow'
import { State } from '../part/State'
import { bytes, count, ms, msRow, percent } from '../time/format'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { Changes } from './Changes'
import css from './overview.module.css'
import { partsOf, sentence } from './sentence'

interface Line {
  service: Service
  figures: Figures
  need: Need
  recent: (number | null)[]
}

const shownMost = 12

export default function OverviewPage() {
  const live = useLive('overview')
  const every = live.mode === 'stream' ? 5000 : 2000
  const services = useServices(every)
  const engines = useEngines(every)
  useFirstSetUp(services.value?.results.length === 0 && engines.value?.results.length === 0)
  return (
    <Page title="Overview">
      <Shown of={services} what="the virtual services">
        {(list) => (
          <Shown of={engines} what="the engines">{(found) => <Found services={list.results} live={live} engines={found.results} />}</Shown>
        )}
      </Shown>
    </Page>
  )
}

/** Leads an administrator of a new controller to the set-up. */
function useFirstSetUp(isEmpty: boolean) {
  const { user, isSetUp } = useSession()
  const leads = isEmpty && !isSetUp && user?.is_superuser === true
  useEffect(() => {
    if (leads) go('/welcome', 'replace')
  }, [leads])
}

const names = new Intl.Collator('en', { numeric: true })

function Found({ services, live, engines }: { services: Service[]; live: Live; engines: Engine[] }) {
  // Names are compared when services are read, and not each second: thousands take longer than a frame.
  const named = useMemo(() => services.toSorted((a, b) => names.compare(a.name, b.name)), [services])
  const lines = useMemo(() => linesOf(named, live), [named, live])
  return <Content lines={lines} engines={engines} />
}

/** Services by their need, and by name as they come. */
function linesOf(services: Service[], live: Live): Line[] {
  return services
    .map((service) => {
      const line = live.lines.get(service.uuid)
      const figures = figuresOf(service.runtime, line)
      return { service, figures, need: needOf(service, figures), recent: line?.recent_requests_per_s ?? [] }
    })
    .toSorted((a, b) => needs.indexOf(a.need) - needs.indexOf(b.need))
}

function Content({ lines, engines }: { lines: Line[]; engines: Engine[] }) {
  const said = sentence(
    lines.map(({ service, figures, need }) => ({
      name: service.name,
      need,
      reasons: service.runtime?.oper_status.reason ?? [],
      errors: percent(figures.errors),
      p95: ms(figures.p95),
      slow: figures.slow,
    })),
    engines.map((engine) => ({ name: engine.name, works: engine.runtime?.oper_status.state === 'OPER_UP' })),
  )
  return (
    <div className={css.stack}>
      <p className={css.sentence}>
        {partsOf(said, lines.flatMap((line) => line.figures.slow)).map(({ text, server }) =>
          server ? <Link key={text} to={pathOf(server)} className={css.named}>{text}</Link> : text,
        )}
      </p>
      <Strip lines={lines} engines={engines} />
      <div className={css.two}>
        <Panel title="Services" note={<Link to="/services">by need of attention; all {lines.length}</Link>}>
          <Services lines={lines.slice(0, shownMost)} />
        </Panel>
        <Panel title="What changed">
          <Changes names={new Map([...lines.map((line) => line.service), ...engines].map((one) => [one.uuid, one.name]))} />
        </Panel>
      </div>
    </div>
  )
}

function pathOf(server: SlowServer): string {
  return `/pools/${server.pool}`
}

function Strip({ lines, engines }: { lines: Line[]; engines: Engine[] }) {
  const sum = (of: (line: Line) => number | undefined) => lines.reduce((total, line) => total + (of(line) ?? 0), 0)
  const requests = sum((line) => (line.figures.rateOf === 'requests' ? line.figures.rate : 0))
  const errors = sum((line) => line.service.runtime?.counters?.per_second?.['responses_5xx'])
  const up = engines.filter((engine) => engine.runtime?.oper_status.state === 'OPER_UP').length
  const sent = sum((line) => line.service.runtime?.counters?.per_second?.['sent_bytes'])
  return (
    <Tiles>
      <Tile name="Services up" value={`${lines.filter((line) => line.service.runtime?.oper_status.state === 'OPER_UP').length} of ${lines.length}`} />
      <Tile name="Engines up" value={`${up} of ${engines.length}`} />
      <Tile name="Requests/s" value={count(requests)} title="Of all virtual services of this tenant" />
      <Tile name="Errors (5xx)" value={requests < 1 ? '–' : percent(Math.min(1, errors / requests))} title="Below one request a second it says nothing" />
      <Tile name="Open connections" value={count(sum((line) => line.figures.open))} />
      <Tile name="Sent" value={`${bytes(sent)}/s`} />
      <Tile name="Busiest engine" value={busiest(engines)} title="CPU time of its data plane, of what its workers can use" />
    </Tiles>
  )
}

function busiest(engines: Engine[]): string {
  const loads = engines.flatMap(({ runtime }) => (runtime?.dataplane.cpu_percent === undefined ? [] : [runtime.dataplane.cpu_percent / Math.max(1, runtime.dataplane.workers ?? 1)]))
  return loads.length ? `${Math.max(...loads).toFixed(0)} % CPU` : '–'
}

function Services({ lines }: { lines: Line[] }) {
  if (lines.length === 0) {
    return (
      <Empty title="There are no virtual services yet">
        <Link to="/new">Create one</Link>.
      </Empty>
    )
  }
  return (
    <ul className={css.list}>
      {lines.map(({ service, figures, recent }) => (
        <li key={service.uuid}>
          <div className={css.line}>
            <State state={service.runtime?.oper_status.state ?? ''} reasons={[...(service.runtime?.oper_status.reason ?? []), ...figures.slow.map((server) => server.id)]} />
            <span className={css.health}><ScoreText of={service.runtime?.health_score} /></span>
            <Link to={`/services/${service.uuid}`} className={css.name}>{service.name}</Link>
            <Spark values={recent} />
            <span className={css.figure}>{`${count(figures.rate)}/s`}</span>
            <span className={css.latencies} title="Half, 95 % and 99 % of requests took less">{msRow([figures.p50, figures.p95, figures.p99])}</span>
            <span className={css.figure}>{`${percent(figures.errors)} err`}</span>
          </div>
          {(service.runtime?.oper_status.reason ?? []).slice(0, 1).map((reason) => (
            <p key={reason} className={css.why}>{reason}</p>
          ))}
          {figures.slow.map((server) => (
            <p key={server.id} className={css.why}>
              <Link to={pathOf(server)} className={css.named}>{server.id}</Link>
              {` ${slowText(server, server.since_ms)}. It gave ${percent(server.share)} of the answers`}
            </p>
          ))}
        </li>
      ))}
    </ul>
  )
}
