import { useSchema } from '../api/schema'
import { titleOf } from '../api/words'
import { nameOf, type Named } from '../api/types'
import { useList, useTenant } from '../api/useData'
import { ActLink, Actions } from '../form/Act'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import { useParam } from '../url/location'

interface Row extends Named {
  description?: string
  tenant_ref?: string
  _last_modified: string
  enabled?: boolean
}

const everyMs = 5000

/** The objects of a kind. */
export default function ListPage({ kind }: { kind: string }) {
  const schema = useSchema(kind)
  const may = schema.value
  const tenant = useTenant()
  const list = useList<Row>(may?.may_read ? `/api/${kind}?include_name&fields=name,description,tenant_ref,_last_modified,enabled` : null, everyMs)
  const filter = useParam('f')
  const title = may ? titleOf(may) : kind
  const create = may?.creatable && (
    <Actions>
      <ActLink kind={kind} needs="may_create" to={`/objects/${kind}/new`}>{`New ${title}`}</ActLink>
    </Actions>
  )
  return (
    <Page title={title} lead={create}>
      <Shown of={schema} what="this kind of object">
        {(known) =>
          known.may_read ? (
            <Shown of={list} what={`objects of the kind ${kind}`}>
              {({ results }) => {
                const shown = results.filter((row) => matches(filter, [row.name, row.description, row.uuid]))
                if (results.length === 0) {
                  return (
                    <Empty title={`There is no ${title} yet`}>
                      {known.creatable ? 'The button above creates one.' : 'They come by themselves: engines join.'}
                    </Empty>
                  )
                }
                return (
                  <>
                    <Filter of={title} shown={shown.length} total={results.length} />
                    <Panel title={title} note={<Link to="/objects">all kinds of object</Link>}>
                      {shown.length === 0 ? <FilterHidesAll of="objects" /> : <Table label={title} rows={shown} columns={columnsOf(kind, known.per_tenant && tenant === '*')} id={(row) => row.uuid} first="name" isPlain />}
                    </Panel>
                  </>
                )
              }}
            </Shown>
          ) : (
            <Empty title={`You may not see ${title}`}>{known.why_not}</Empty>
          )
        }
      </Shown>
    </Page>
  )
}

function columnsOf(kind: string, withTenant: boolean): Column<Row>[] {
  const columns: Column<Row>[] = [
    { key: 'name', head: 'Name', width: 'minmax(180px, 2fr)', sort: (row) => row.name, cell: (row) => <Link to={`/objects/${kind}/${row.uuid}`}>{row.name || row.uuid}</Link> },
    { key: 'description', head: 'Description', width: 'minmax(140px, 2fr)', sort: (row) => row.description, cell: (row) => <span title={row.description}>{row.enabled === false ? 'disabled' : ''} {row.description}</span> },
  ]
  if (withTenant) columns.push({ key: 'tenant', head: 'Tenant', width: 'minmax(90px, 1fr)', sort: (row) => nameOf(row.tenant_ref), cell: (row) => nameOf(row.tenant_ref) })
  return [
    ...columns,
    { key: 'changed', head: 'Changed', width: '140px', sort: (row) => row._last_modified, cell: (row) => clock(Number(row._last_modified) / 1000) },
    { key: 'uuid', head: 'uuid', width: 'minmax(200px, 2fr)', sort: (row) => row.uuid, cell: (row) => <code title={row.uuid}>{row.uuid}</code> },
  ]
}
