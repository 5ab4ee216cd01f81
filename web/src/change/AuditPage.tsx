import type { AuditEntry, List } from '../api/types'
import { useData } from '../api/useData'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { clock } from '../time/format'
import { setParam, useParam } from '../url/location'
import css from './change.module.css'
import { EntryDialog } from './EntryDialog'
import { idOf } from './undo'

type Row = AuditEntry & { at: string; order: number }

const most = 1000

export default function AuditPage() {
  const audit = useData<List<AuditEntry>>(`/api/audit?page_size=${most}`, 5000)
  const filter = useParam('f')
  const entry = useParam('entry')
  return (
    <Page title="Audit">
      <Shown of={audit} what="the audit trail">
        {({ results, count }) => {
          const rows = results.map((entry, at) => ({ ...entry, order: results.length - at, at: `${entry.time} ${results.length - at}` }))
          const shown = rows.filter((entry) => matches(filter, [entry.user, entry.action, entry.kind, entry.object, entry.name, entry.address, entry.refused]))
          if (rows.length === 0) return <Empty title="Nobody has changed anything yet">Changes and logins appear here.</Empty>
          return (
            <>
              <Filter of="the audit trail" shown={shown.length} total={rows.length} />
              <Panel title="Who did what" note={count > most ? `the newest ${most} of ${count}` : 'all that is kept'} menu={<TableMenu of="Audit trail" rows={shown} columns={columns} />}>
                {shown.length === 0 ? <FilterHidesAll of="entries" /> : <Table label="Audit trail" rows={shown} columns={columns} id={(row) => row.at} first="-time" />}
              </Panel>
            </>
          )
        }}
      </Shown>
      {entry && <EntryDialog id={entry} key={entry} />}
    </Page>
  )
}

const columns: Column<Row>[] = [
  { key: 'time', head: 'Time', width: '140px', sort: (row) => row.order, cell: (row) => <time dateTime={row.time}>{clock(row.time)}</time> },
  { key: 'user', head: 'Who', width: 'minmax(130px, 1fr)', sort: (row) => row.user, cell: (row) => <span title={row.user}>{row.user}</span> },
  { key: 'action', head: 'Did', width: '110px', sort: (row) => row.action, cell: (row) => <button className={css.open} onClick={() => setParam('entry', idOf(row), 'push')}>{row.action}</button>, title: 'Opens what was changed' },
  { key: 'kind', head: 'Kind', width: 'minmax(130px, 1fr)', sort: (row) => row.kind, cell: (row) => row.kind },
  { key: 'object', head: 'Object', width: 'minmax(200px, 2fr)', sort: (row) => row.name || row.object, cell: (row) => <span title={row.object}>{row.name || row.object}</span> },
  { key: 'address', head: 'From', width: '130px', sort: (row) => row.address, cell: (row) => row.address || 'the controller' },
  { key: 'refused', head: 'Refused', width: 'minmax(180px, 2fr)', sort: (row) => row.refused, cell: (row) => <span data-look={row.refused ? 'bad' : undefined} title={row.refused}>{row.refused}</span>, title: 'Why it was refused; empty: it was done' },
]
