import { useState } from 'react'
import { createObject, readObject, removeObject } from '../api/changes'
import { readSession } from '../api/session'
import type { Named } from '../api/types'
import { useList } from '../api/useData'
import { Act, ActLink, Actions } from '../form/Act'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { Panel } from '../part/Panel'
import { Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { Link } from '../url/Link'
import { Settings } from './Settings'
import { Text } from './Text'

interface Tenant extends Named {
  description?: string
}

const everyMs = 5000
const kind = 'tenant'

/** Who owns objects, and hides them from others. */
export default function TenantsPage() {
  const [isAdding, setAdding] = useState(false)
  const tenants = useList<Tenant>(`/api/${kind}?fields=name,description`, everyMs)
  return (
    <Settings title="Tenants" lead={<Actions><Act kind={kind} needs="may_create" does={async () => setAdding(true)}>New tenant</Act></Actions>}>
      <Shown of={tenants} what="the tenants">
        {({ results }) => (
          <Panel title="Tenants" note="their objects are theirs alone; those of admin are shared, but for services">
            <Table label="Tenants" rows={results} columns={columns} id={(tenant) => tenant.uuid} first="name" />
          </Panel>
        )}
      </Shown>
      {isAdding && <NewTenant onClose={() => setAdding(false)} />}
    </Settings>
  )
}

const columns: Column<Tenant>[] = [
  { key: 'name', head: 'Tenant', width: 'minmax(140px, 1fr)', sort: (tenant) => tenant.name, cell: (tenant) => <Link to={`/services?tenant=${tenant.uuid}`}>{tenant.name}</Link> },
  { key: 'description', head: 'Description', width: 'minmax(140px, 2fr)', sort: (tenant) => tenant.description, cell: (tenant) => tenant.description },
  { key: 'act', head: 'Actions', width: '150px', cell: (tenant) => <TenantActions of={tenant} /> },
]

function TenantActions({ of }: { of: Tenant }) {
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      {of.uuid !== 'admin' && (
        <Act
          kind={kind}
          needs="may_delete"
          isDangerous
          asks={{ title: `Delete tenant ${of.name}?`, text: 'Its objects keep it from being deleted, and so do users with access to it.' }}
          does={async () => {
            await removeObject(kind, await readObject(kind, of.uuid, ''), '', `tenant ${of.name} deleted`)
            await readSession()
          }}
        >
          Delete
        </Act>
      )}
    </Actions>
  )
}

function NewTenant({ onClose }: { onClose: () => void }) {
  const [value, setValue] = useState({ name: '', description: '' })
  const create = async () => {
    if (!value.name.trim()) throw new Error('Give the tenant a name.')
    await createObject(kind, { name: value.name.trim(), description: value.description }, '', `tenant ${value.name.trim()} created`)
    await readSession()
  }
  return (
    <Confirm title="New tenant" does="Create" onClose={onClose} onConfirm={create}>
      <div className={form.form}>
        <Text label="Name" autoComplete="off" value={value.name} onChange={(event) => setValue({ ...value, name: event.target.value })} />
        <Text label="Description" autoComplete="off" value={value.description} onChange={(event) => setValue({ ...value, description: event.target.value })} />
      </div>
    </Confirm>
  )
}
