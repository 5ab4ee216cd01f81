import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client'
import { uuidOf } from '../api/types'
import { useList, useTenant } from '../api/useData'
import { Act, Actions } from '../form/Act'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { Shape } from '../part/State'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { age, clock } from '../time/format'
import { Link } from '../url/Link'
import { useParam } from '../url/location'
import css from './alert.module.css'
import { type Alert, levelOf, pageOf, rank, type Rule, sentence, silenceOf, told } from './alerts'

/** What rules have found, who was told, and what is over. */
export default function AlertsPage() {
  const alerts = useList<Alert>('/api/alert?include_name', 3000)
  const rules = useList<Rule>('/api/alertconfig?fields=name,weir_silences', 5000)
  const columns = columnsOf(rules.value?.results ?? [])
  const filter = useParam('f')
  return (
    <Page title="Alerts" lead={<Link to="/objects/alertconfig" className={css.rules}>Rules</Link>}>
      <Shown of={alerts} what="the alerts">
        {({ results }) => {
          const shown = results.filter((alert) => matches(filter, [alert.obj_name, alert.weir_obj_part, alert.summary, alert.reason, alert.weir_alert_config_name, alert.level, alert.weir_condition]))
          if (results.length === 0) return <NoAlerts />
          return (
            <>
              <p className={css.sentence}>{sentence(results)}</p>
              <Filter of="alerts" shown={shown.length} total={results.length} />
              <Panel title="Alerts" note="those that last first" menu={<TableMenu of="Alerts" rows={shown} columns={columns} />}>
                {shown.length === 0 ? <FilterHidesAll of="alerts" /> : <Table label="Alerts" rows={shown} columns={columns} id={(alert) => alert.uuid} first="state" />}
              </Panel>
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

function NoAlerts() {
  return (
    <Empty title="There are no alerts">
      <Link to="/objects/alertconfig" className={css.rules}>Rules</Link> say which events and metrics make an alert, and whom the controller tells.
    </Empty>
  )
}

const columnsOf = (rules: Rule[]): Column<Alert>[] => [
  { key: 'state', head: 'State', width: '110px', sort: (alert) => rank(alert), value: (alert) => alert.weir_condition, cell: (alert) => <Condition of={alert} /> },
  { key: 'level', head: 'Level', width: '56px', sort: levelOf, cell: levelOf },
  { key: 'object', head: 'Object', width: 'minmax(110px, 1fr)', sort: (alert) => alert.obj_name, cell: (alert) => <About of={alert} /> },
  { key: 'what', head: 'What', width: 'minmax(180px, 3fr)', sort: (alert) => alert.reason || alert.summary, cell: (alert) => <span title={alert.summary}>{alert.reason || alert.summary}</span> },
  { key: 'began', head: 'Began', width: '104px', sort: (alert) => alert.timestamp, value: (alert) => new Date(alert.timestamp * 1000).toISOString(), cell: (alert) => <span title={clock(alert.timestamp * 1000)}>{clock(alert.timestamp * 1000)}</span> },
  { key: 'lasts', head: 'Lasts', number: true, width: '52px', sort: lasted, cell: (alert) => age(new Date(alert.timestamp * 1000).toISOString(), alert.weir_resolved_timestamp ? alert.weir_resolved_timestamp * 1000 : Date.now()) },
  { key: 'told', head: 'Told', width: 'minmax(130px, 2fr)', value: (alert) => told(alert, rules, Date.now()).text, cell: (alert) => <Told {...told(alert, rules, Date.now())} /> },
  { key: 'act', head: 'Actions', width: '178px', cell: (alert) => <Actions><Dismiss of={alert} /><Silence of={alert} isSilent={silenceOf(alert, rules, Date.now()) !== undefined} /></Actions> },
  { key: 'rule', head: 'Rule', width: 'minmax(80px, 1fr)', sort: (alert) => alert.weir_alert_config_name, cell: (alert) => alert.weir_alert_config_name ?? '–' },
]

function Told({ text, isBad }: { text: string; isBad: boolean }) {
  return <span data-look={isBad ? 'bad' : undefined} title={text}>{text || '–'}</span>
}

function lasted(alert: Alert): number {
  return (alert.weir_resolved_timestamp || Date.now() / 1000) - alert.timestamp
}

function Condition({ of }: { of: Alert }) {
  const isFiring = of.weir_condition === 'FIRING'
  return (
    <span className={css.state} data-look={isFiring ? (of.level === 'ALERT_LOW' ? 'attention' : 'bad') : 'good'}>
      <Shape look={isFiring ? (of.level === 'ALERT_LOW' ? 'attention' : 'bad') : 'good'} />
      {of.state === 'ALERT_STATE_DISMISSED' ? 'DISMISSED' : isFiring ? 'FIRING' : 'OVER'}
    </span>
  )
}

function About({ of }: { of: Alert }) {
  const page = pageOf(of)
  const name = [of.obj_name, of.weir_obj_part].filter(Boolean).join(' ') || of.name
  return page ? <Link to={page}>{name}</Link> : name
}

function Dismiss({ of }: { of: Alert }) {
  const tenant = useTenant()
  const queries = useQueryClient()
  const dismiss = async () => {
    await call(`/api/alert/${of.uuid}`, { method: 'DELETE', tenant })
    await queries.invalidateQueries()
  }
  return <Act kind="alert" needs="may_delete" does={dismiss}>Dismiss</Act>
}

const silentMinutes = 60

/** Has the controller send nothing about the rule and the object for an hour. The alert stays in the list. */
function Silence({ of, isSilent }: { of: Alert; isSilent: boolean }) {
  const tenant = useTenant()
  const queries = useQueryClient()
  const rule = uuidOf(of.alert_config_ref)
  if (!rule || isSilent || of.weir_condition !== 'FIRING') return null
  const silence = async () => {
    const body = { minutes: silentMinutes, why: 'silenced on the page of alerts', ...(of.obj_uuid ? { obj_uuid: of.obj_uuid } : {}) }
    await call(`/api/alertconfig/${rule}/silence`, { method: 'POST', body, tenant })
    await queries.invalidateQueries()
  }
  return <Act kind="alertconfig" does={silence}>Silence 1 h</Act>
}
