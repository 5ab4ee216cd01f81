import { mayAudit } from '../api/roles'
import { useSession } from '../api/session'
import type { AuditEntry, Happening, List } from '../api/types'
import { type Data, useData } from '../api/useData'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import { changes } from './changes'
import css from './overview.module.css'

const shownMost = 14

/** What happened, and who changed what, newest first: the latter for those who may read the audit trail. */
export function Changes({ names }: { names: Map<string, string> }) {
  const { user } = useSession()
  const events = useData<List<Happening>>('/api/analytics/logs?type=2&page_size=50', 5000)
  const audit = useData<List<AuditEntry>>(mayAudit(user) ? '/api/audit?page_size=50' : null, 5000)
  const unread = [events, audit].find((data: Data<unknown>) => data.error)
  const list = changes(events.value?.results ?? [], audit.value?.results ?? [], names).slice(0, shownMost)
  return (
    <>
      {unread && <p className={css.none}>{`Not all could be read: ${unread.error?.message}`}</p>}
      {list.length === 0 && !unread && <p className={css.none}>Nothing has changed since this controller started.</p>}
      <ul className={css.list}>
        {list.map((change) => (
          <li key={change.key} className={css.change}>
            <time dateTime={change.at}>{clock(change.at)}</time>
            {change.to ? <Link to={change.to}>{change.text}</Link> : <span>{change.text}</span>}
          </li>
        ))}
      </ul>
      <p className={css.more}>
        <Link to="/events">All events</Link>
        {mayAudit(user) && <Link to="/audit">Audit trail</Link>}
      </p>
    </>
  )
}
