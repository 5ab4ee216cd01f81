import { readObject, removeObject } from '../api/changes'
import { type Privilege, sumOf } from '../api/roles'
import { nameOf, type Named } from '../api/types'
import { useList } from '../api/useData'
import { Act, ActLink, Actions, useMay } from '../form/Act'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { Link } from '../url/Link'

export interface Role extends Named {
  privileges?: Privilege[]
  tenant_ref?: string
}

const kind = 'role'
const everyMs = 5000

export function useRoles() {
  const may = useMay(kind)
  return useList<Role>(may?.may_read ? `/api/${kind}?include_name&fields=name,privileges,tenant_ref` : null, everyMs)
}

/** The roles that there are. */
export function RolesPanel() {
  const may = useMay(kind)
  const roles = useRoles()
  return (
    <Panel title="Roles" note="what users may read and write, in each tenant in which they have one" menu={<Actions><ActLink kind={kind} needs="may_create" to="/settings/roles/new">New role</ActLink></Actions>}>
      {may?.may_read === false ? (
        <Empty title="You may not see the roles">{may.why_not}</Empty>
      ) : (
        <Shown of={roles} what="the roles">{({ results }) => <Table label="Roles" rows={results} columns={columns} id={(role) => role.uuid} first="name" />}</Shown>
      )}
    </Panel>
  )
}

const columns: Column<Role>[] = [
  { key: 'name', head: 'Role', width: 'minmax(160px, 1fr)', sort: (role) => role.name, cell: (role) => <Link to={`/settings/roles/${role.uuid}`}>{role.name}</Link> },
  { key: 'allows', head: 'Allows', width: 'minmax(150px, 1fr)', cell: (role) => sumOf(role.privileges) },
  { key: 'tenant', head: 'Of tenant', width: '120px', sort: (role) => nameOf(role.tenant_ref), cell: (role) => nameOf(role.tenant_ref) },
  { key: 'act', head: 'Actions', width: '110px', cell: (role) => <Delete of={role} /> },
]

function Delete({ of }: { of: Role }) {
  return (
    <Actions>
      <Act
        kind={kind}
        needs="may_delete"
        isDangerous
        asks={{ title: `Delete role ${of.name}?`, text: 'A role that a user has is not deleted: the controller says who that is.' }}
        does={async () => removeObject(kind, await readObject(kind, of.uuid, ''), '', `role ${of.name} deleted`)}
      >
        Delete
      </Act>
    </Actions>
  )
}
