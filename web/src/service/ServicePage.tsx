import { useEffect } from 'react'
import { appliedText, figuresOf } from '../api/figures'
import { useLive } from '../api/live'
import { portsOf, useVips } from '../api/objects'
import { pointOf, seriesOf } from '../api/series'
import { nameOf, type Pool, type Service, uuidOf } from '../api/types'
import { useData, useTenant } from '../api/useData'
import { useGrade } from '../api/useGrades'
import { GradeMark } from '../part/GradeMark'
import { Page } from '../part/Page'
import { Panel, Reasons } from '../part/Panel'
import { Score } from '../part/Score'
import { ServiceTabs } from '../part/ServiceTabs'
import { Shown } from '../part/Shown'
import { goodAllTheSame, slowText } from '../part/slow'
import { State } from '../part/State'
import { percent } from '../time/format'
import { Link } from '../url/Link'
import { Analytics } from './Analytics'
import { Engines } from './Engines'
import { Findings } from './Findings'
import { PoolTree } from './PoolTree'
import { ServiceActions } from './ServiceActions'
import css from './service.module.css'

export default function ServicePage({ uuid }: { uuid: string }) {
  const live = useLive(`vs:${uuid}`)
  const every = live.mode === 'stream' ? 5000 : 2000
  const service = useData<Service>(`/api/virtualservice/${uuid}?join_subresources=runtime&include_name`, every)
  const poolUUID = uuidOf(service.value?.pool_ref)
  const pool = useData<Pool>(poolUUID ? `/api/pool/${poolUUID}?join_subresources=runtime&include_name` : null, every)
  const series = seriesOf(`${useTenant()} ${uuid}`)
  const runtime = service.value?.runtime
  const grade = useGrade(service.value)
  useEffect(() => {
    if (live.mode === 'poll' && runtime) series.add([pointOf(runtime, service.at)])
  }, [live.mode, runtime, service.at, series])
  const name = service.value?.name ?? (service.error ? 'Service' : '…')
  return (
    <Page title={name} lead={<>{runtime && <State state={runtime.oper_status.state} reasons={[...runtime.oper_status.reason, ...figuresOf(runtime).slow.map((server) => server.id)]} />}<Score of={runtime?.health_score} kind="virtualservice" uuid={uuid} name={name} /><GradeMark of={grade} name={name} />{service.value && <ServiceActions of={service.value} />}</>}>
      <ServiceTabs uuid={uuid} at="analytics" />
      <Shown of={service} what="this virtual service">
        {(value) => (
          <div className={css.stack}>
            <Head of={value} />
            <Analytics uuid={uuid} poolUUID={poolUUID} name={value.name} runtime={value.runtime} series={series} isPolled={live.mode === 'poll'} />
            <div className={css.two}>
              <Panel title="Pool and servers" note={nameOf(value.pool_ref) || value.runtime?.group_pools ? undefined : 'none'}>
                {poolUUID && <Shown of={pool} what="the pool">{(found) => <PoolTree pool={found} />}</Shown>}
                {!poolUUID && !value.runtime?.group_pools && <p className={css.none}>This virtual service has no pool of its own.</p>}
                {value.runtime?.group_pools?.map(({ pool_ref, ratio, priority }) => <OtherPool key={pool_ref} why={`In its group, with priority ${priority} and ratio ${ratio}:`} uuid={uuidOf(pool_ref)} every={every} />)}
                {value.runtime?.rule_pools?.map(({ pool_ref }) => <OtherPool key={pool_ref} why="By rules:" uuid={uuidOf(pool_ref)} every={every} />)}
                {value.runtime?.backup_pools?.map(({ pool_ref }) => <OtherPool key={pool_ref} why="When no server is up:" uuid={uuidOf(pool_ref)} every={every} />)}
              </Panel>
              <Panel title="Engines" note={value.runtime?.applied?.text}>
                <Engines runtime={value.runtime} />
              </Panel>
            </div>
            <Findings runtime={value.runtime} />
          </div>
        )}
      </Shown>
    </Page>
  )
}

/** A pool beside its own, and why requests go there. */
function OtherPool({ uuid, why, every }: { uuid: string; why: string; every: number }) {
  const pool = useData<Pool>(`/api/pool/${uuid}?join_subresources=runtime&include_name`, every)
  return (
    <>
      <p className={css.none}>{why}</p>
      <Shown of={pool} what="the pool">{(found) => <PoolTree pool={found} />}</Shown>
    </>
  )
}

function Head({ of }: { of: Service }) {
  const vips = useVips()
  const parent = nameOf(of.vh_parent_vs_ref)
  return (
    <div>
      <p className={css.head}>
        <span>{parent ? `via ${parent}` : `${vips.get(uuidOf(of.vsvip_ref)) ?? ''} : ${portsOf(of)}`}</span>
        <span>{`applied on ${appliedText(of.runtime)} engines`}</span>
        {nameOf(of.tenant_ref) && <span>{`tenant ${nameOf(of.tenant_ref)}`}</span>}
      </p>
      {of.description && <p className={css.said}>{of.description}</p>}
      <Reasons of={of.runtime?.oper_status.reason} />
      <SlowServers of={of} />
    </div>
  )
}

/** Names the servers that are slow before any figure, and says why the score can be good all the same. */
function SlowServers({ of }: { of: Service }) {
  const slow = figuresOf(of.runtime).slow
  if (slow.length === 0) return null
  return (
    <div className={css.lead}>
      {slow.map((server) => (
        <p key={server.id}>
          Server <Link to={`/pools/${server.pool}?server=${encodeURIComponent(server.id)}`}>{server.id}</Link>
          {` ${slowText(server, server.since_ms)}. It gave ${percent(server.share)} of the answers.`}
        </p>
      ))}
      <p className={css.dim}>{goodAllTheSame(of.runtime?.health_score)}</p>
    </div>
  )
}
