import type { Happening, List } from '../api/types'
import { useData } from '../api/useData'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import { useParam } from '../url/location'

type Row = Happening & { at: string }

const most = 1000

export default function EventsPage() {
  const events = useData<List<Happening>>(`/api/analytics/logs?type=2&page_size=${most}`, 5000)
  const filter = useParam('f')
  return (
    <Page title="Events">
      <Shown of={events} what="the events">
        {({ results, count }) => {
          const rows = results.map((event, at) => ({ ...event, at: `${event.report_timestamp} ${String(results.length - at).padStart(6, '0')}` }))
          const shown = rows.filter((event) => matches(filter, [event.event_id, event.obj_type, event.obj_name, event.event_description]))
          if (rows.length === 0) return <Empty title="Nothing has happened yet">The controller notes here what comes up, goes down and moves.</Empty>
          return (
            <>
              <Filter of="events" shown={shown.length} total={rows.length} />
              <Panel title="What happened" note={count > most ? `the newest ${most} of ${count}` : 'all that is kept'}>
                {shown.length === 0 ? <FilterHidesAll of="events" /> : <Table label="Events" rows={shown} columns={columns} id={(row) => row.at} first="-time" />}
              </Panel>
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

const columns: Column<Row>[] = [
  { key: 'time', head: 'Time', width: '140px', sort: (row) => row.at, cell: (row) => <time dateTime={row.report_timestamp}>{clock(row.report_timestamp)}</time> },
  { key: 'event', head: 'Event', width: 'minmax(170px, 1fr)', sort: (row) => row.event_id, cell: (row) => <code>{row.event_id}</code> },
  { key: 'object', head: 'Object', width: 'minmax(140px, 1fr)', sort: (row) => row.obj_name, cell: (row) => <About event={row} /> },
  { key: 'text', head: 'What', width: 'minmax(320px, 4fr)', cell: (row) => <span title={row.event_description}>{row.event_description}</span> },
]

const pages: Record<string, string> = { VIRTUALSERVICE: '/services/', POOL: '/pools/', SERVICEENGINE: '/engines/' }

function About({ event }: { event: Happening }) {
  const page = pages[event.obj_type]
  if (page) return <Link to={page + event.obj_uuid}>{event.obj_name}</Link>
  return event.obj_name
}
