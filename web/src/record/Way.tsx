import { useState } from 'react'
import type { ApiError } from '../api/client'
import type { Data } from '../api/useData'
import { Loading } from '../part/Shown'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import type { Entry } from './ask'
import { enginesOf, type Explained, type ExplainedEngine, questionOf } from './question'
import css from './record.module.css'
import { text } from './sentence'
import { sideBySide, type Stage } from './stages'
import { useNow, type useTold } from './told'

/** The way of a request: what happened, and beside it, when somebody asks, what would happen to the same request now. */
export function Way({ entry, told }: { entry: Entry; told: ReturnType<typeof useTold> }) {
  const [isAsked, setAsked] = useState(false)
  const question = questionOf(entry)
  const now = useNow((isAsked && question) || null)
  const engines = now.value ? enginesOf(now.value, entry) : []
  const [engine, ...others] = engines
  return (
    <section className={css.way} aria-label="The way of the request">
      {question && (
        <p className={css.acts} role="status">
          <button className={css.button} onClick={isAsked ? now.retry : () => setAsked(true)}>{isAsked ? 'Ask again' : 'What would happen now'}</button>
          {isAsked && <Answered now={now} />}
        </p>
      )}
      {told.error && <p>{`What happened cannot be told now: ${told.error.message} Its fields stand below. `}<button className={css.button} onClick={told.retry}>Read again</button></p>}
      {told.value === undefined && !told.error && <Loading />}
      <Stages then={told.value?.stages ?? []} now={engine} />
      {others.length > 0 && (
        <details className={css.others}>
          <summary>{`${others.length} more ${others.length === 1 ? 'engine' : 'engines'}`}</summary>
          {others.map((one) => <Stages key={one.uuid} then={[]} now={one} />)}
        </details>
      )}
      {engine && <p className={css.note}>{`Asked was ${question?.method} ${question?.url} from ${question?.client ?? 'any client'}, without the other header fields, the cookies and the body, which the record does not have. Nothing was sent to a server.${cutOf(entry)}`}</p>}
    </section>
  )
}

function cutOf(entry: Entry): string {
  const cut = text(entry, 'cut').split(/[\s,]+/).filter((field) => ['host', 'uri_path', 'uri_query', 'sni_hostname'].includes(field))
  return cut.length > 0 ? ` The record has only the beginning of ${cut.join(' and ')}, so the request itself may go elsewhere.` : ''
}

/** How the asking went. */
function Answered({ now }: { now: Data<Explained> }) {
  if (now.error) return <span data-look="attention">{saysError(now.error)}</span>
  if (!now.value) return <span>The engines are asked…</span>
  const { uuid, name } = now.value.virtualservice
  if (now.value.engines.length === 0) return <span data-look="attention">No engine serves it now: <Link to={`/services/${encodeURIComponent(uuid)}`}>the page of {name}</Link> says why.</span>
  return <span>{`as of ${clock(now.at)}`}</span>
}

function saysError({ status, message }: ApiError): string {
  const why = message.replace(/^query parameter \w+: /, '')
  if (status === 403) return `You may not ask this: ${why} Ask an administrator of the controller.`
  if (status === 400 || status === 404) return `Now, this request leads nowhere: ${why}. Was the virtual service deleted, or given another address or port? The audit trail says so.`
  return `The engines could not be asked: ${why}`
}

function Stages({ then, now }: { then: Stage[]; now: ExplainedEngine | undefined }) {
  const rows = sideBySide(then, now?.stages ?? [])
  if (rows.length === 0) return null
  return (
    <table className={css.stages} data-both={now && then.length > 0 ? true : undefined}>
      {now && (
        <thead>
          <tr>
            <th scope="col">Stage</th>
            {then.length > 0 && <th scope="col">Then</th>}
            <th scope="col">Now, at <Link to={`/engines/${encodeURIComponent(now.uuid)}`}>{now.name}</Link></th>
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            {then.length > 0 && <td data-when="Then">{row.then}</td>}
            {now && <td data-when="Now">{row.now}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
