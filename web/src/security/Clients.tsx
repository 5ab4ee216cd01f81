import { call } from '../api/client'
import { connections, type Kind, requests } from '../api/fields'
import { type Data, useReading } from '../api/useData'
import { Panel } from '../part/Panel'
import { Shown } from '../part/Shown'
import { count } from '../time/format'
import { boundsOf, type Range, stamp } from '../time/range'
import { Link } from '../url/Link'
import { useRange } from '../url/useRange'
import { type Client, clientsOf, type Group, refusedCondition } from './refusals'
import css from './security.module.css'

const everyMs = 10_000
const groupsMost = 1000
const shownMost = 20
const timeoutS = 10

interface Answer {
  results: Group[]
  next?: string
  percent_remaining: number
}

interface Refused {
  clients: Client[]
  /** There were more clients and causes than one answer has. */
  isCut: boolean
  percentUnread: number
}

/** Who was refused most, from the records of requests and connections. */
export function Clients() {
  const range = useRange()
  const refused = useRefused(range)
  return (
    <Panel title="Refused, by client" note={range.kind === 'live' ? 'last 15 minutes; from log records and what they stand for' : 'from log records and what they stand for'}>
      <Shown of={refused} what="the records of requests and connections">{(value) => <List of={value} />}</Shown>
    </Panel>
  )
}

function List({ of }: { of: Refused }) {
  if (of.clients.length === 0) return <p className={css.none}>No record of this time is of a client that was refused.</p>
  return (
    <>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Refused, by client: rows">
        <table className={css.table}>
          <thead>
            <tr><th scope="col">Client</th><th scope="col" data-number>Refused</th><th scope="col">By cause</th></tr>
          </thead>
          <tbody>
            {of.clients.slice(0, shownMost).map((client) => (
              <tr key={client.address}>
                <th scope="row"><Link to={client.to} className={css.client} title="All records of this client">{client.address || '(unknown)'}</Link></th>
                <td data-number>{count(client.count)}</td>
                <td>
                  <ul className={css.causes}>
                    {client.causes.map((cause) => <li key={cause.to}><Link to={cause.to}>{cause.name}</Link>{` ${count(cause.count)}`}</li>)}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Less of={of} />
    </>
  )
}

/** Says what the list does not have. */
function Less({ of }: { of: Refused }) {
  const says = [
    of.clients.length > shownMost ? `${shownMost} of ${count(of.clients.length)} clients are shown.` : '',
    of.isCut ? `There are more than ${groupsMost} clients and causes: the most frequent are counted.` : '',
    of.percentUnread > 0 ? `${(100 - of.percentUnread).toFixed(0)} % of the range was read in time: the newest.` : '',
  ].filter(Boolean)
  return says.length > 0 ? <p className={css.none}>{says.join(' ')}</p> : null
}

function useRefused(range: Range): Data<Refused> {
  return useReading<Refused>(JSON.stringify(['refused', range]), range.kind === 'fixed' ? Infinity : everyMs, async (tenant, signal, background) => {
    const read = (kind: Kind) => call<Answer>(pathOf(kind, range), { tenant, signal, background })
    const ofRequests = await read(requests)
    const ofConnections = await read(connections)
    return {
      clients: clientsOf(ofRequests.results, ofConnections.results),
      isCut: ofRequests.next !== undefined || ofConnections.next !== undefined,
      percentUnread: Math.max(ofRequests.percent_remaining, ofConnections.percent_remaining),
    }
  })
}

function pathOf(kind: Kind, range: Range): string {
  const { fromMs, toMs } = boundsOf(range.kind === 'live' ? { kind: 'recent', seconds: kind.liveS } : range, Date.now())
  const form = new URLSearchParams({ type: String(kind.type), filter: refusedCondition, groupby: 'client_ip,request_state', cols: 'sum(weight)', orderby: '-sum(weight)', page_size: String(groupsMost), timeout: String(timeoutS), start: stamp(fromMs) })
  if (range.kind === 'fixed') form.set('end', stamp(toMs))
  return `/api/analytics/logs?${form}`
}
