import { useState } from 'react'
import { changeObject, readObject, removeObject } from '../api/changes'
import type { Access } from '../api/roles'
import { useSession } from '../api/session'
import { nameOf, type Named } from '../api/types'
import { useList } from '../api/useData'
import { Act, ActLink, Actions, useMay } from '../form/Act'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { NewUser } from './NewUser'
import { RolesPanel } from './RolesPanel'
import { Settings } from './Settings'
import { UserRoles } from './UserRoles'

interface User extends Named {
  username: string
  full_name?: string
  is_superuser?: boolean
  is_active?: boolean
  access?: Access[]
}

const everyMs = 5000
const kind = 'user'

/** Who can log in, and what they may do. */
export default function UsersPage() {
  const may = useMay(kind)
  const [isAdding, setAdding] = useState(false)
  const users = useList<User>(may?.may_read ? `/api/${kind}?include_name&fields=name,username,full_name,is_superuser,is_active,access` : null, everyMs)
  return (
    <Settings title="Users and roles" lead={<Actions><Act kind={kind} needs="may_create" does={async () => setAdding(true)}>New user</Act></Actions>}>
      {may?.may_read === false ? (
        <Empty title="You may not see the users">{may.why_not}</Empty>
      ) : (
        <Shown of={users} what="the users">
          {({ results }) => (
            <Panel title="Users">
              <Table label="Users" rows={results} columns={columns} id={(user) => user.uuid} first="name" />
            </Panel>
          )}
        </Shown>
      )}
      <RolesPanel />
      {isAdding && <NewUser onClose={() => setAdding(false)} />}
    </Settings>
  )
}

/** "Tenant-Admin in blue, reader everywhere" */
function rolesOf(user: User): string {
  if (user.is_superuser) return 'administrator'
  const roles = (user.access ?? []).map((one) => `${nameOf(one.role_ref) || 'reader'} ${one.all_tenants ? 'in all tenants' : `in ${nameOf(one.tenant_ref)}`}`)
  return roles.join(', ') || 'none'
}

const columns: Column<User>[] = [
  { key: 'name', head: 'User', width: 'minmax(120px, 1fr)', sort: (user) => user.username, cell: (user) => <b>{user.username || user.name}</b> },
  { key: 'full', head: 'Name', width: 'minmax(120px, 1fr)', sort: (user) => user.full_name, cell: (user) => user.full_name },
  { key: 'roles', head: 'Roles', width: 'minmax(160px, 2fr)', sort: rolesOf, cell: (user) => <span title={rolesOf(user)}>{rolesOf(user)}</span> },
  { key: 'active', head: 'Active', width: '80px', cell: (user) => (user.is_active === false ? 'no' : 'yes') },
  { key: 'act', head: 'Actions', width: '270px', cell: (user) => <UserActions of={user} /> },
]

function UserActions({ of }: { of: User }) {
  const { user } = useSession()
  const isOwn = user?.username === of.username
  const isActive = of.is_active !== false
  const [isChoosing, setChoosing] = useState(false)
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      {!isOwn && !of.is_superuser && <Act kind={kind} does={async () => setChoosing(true)}>Roles</Act>}
      {!isOwn && (
        <Act kind={kind} does={() => changeObject(kind, of.uuid, '', `user ${of.username} ${isActive ? 'locked out' : 'let in'}`, (object) => ({ ...object, is_active: !isActive }))}>
          {isActive ? 'Lock out' : 'Let in'}
        </Act>
      )}
      {!isOwn && (
        <Act
          kind={kind}
          needs="may_delete"
          isDangerous
          asks={{ title: `Delete user ${of.username}?`, text: 'The sessions and tokens of the user end. The password is gone with the account.' }}
          does={async () => removeObject(kind, await readObject(kind, of.uuid, ''), '', `user ${of.username} deleted`)}
        >
          Delete
        </Act>
      )}
      {isChoosing && <UserRoles uuid={of.uuid} username={of.username} access={of.access ?? []} onClose={() => setChoosing(false)} />}
    </Actions>
  )
}
