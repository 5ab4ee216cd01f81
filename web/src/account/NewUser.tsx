import { useState } from 'react'
import { createObject } from '../api/changes'
import { useSession } from '../api/session'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { Text } from './Text'

/** Asks for a new account. */
export function NewUser({ onClose }: { onClose: () => void }) {
  const { tenants } = useSession()
  const [value, setValue] = useState({ username: '', name: '', password: '', isAdministrator: false, tenant: tenants[0]?.uuid ?? '' })
  const set = (part: Partial<typeof value>) => setValue({ ...value, ...part })
  const create = async () => {
    if (!value.username.trim()) throw new Error('Give the user a name to log in with.')
    const username = value.username.trim()
    const access = value.isAdministrator || value.tenant === '*' ? [{ tenant_ref: '/api/tenant/admin', all_tenants: true }] : [{ tenant_ref: `/api/tenant/${value.tenant}` }]
    const home = value.tenant === '*' ? 'admin' : value.tenant
    await createObject(
      'user',
      { name: username, username, full_name: value.name, password: value.password, is_superuser: value.isAdministrator, access, default_tenant_ref: `/api/tenant/${home}` },
      '',
      `user ${username} created`,
    )
  }
  return (
    <Confirm title="New user" does="Create" onClose={onClose} onConfirm={create}>
      <div className={form.form}>
        <Text label="User" autoComplete="off" autoCapitalize="none" value={value.username} onChange={(event) => set({ username: event.target.value })} note="to log in with" />
        <Text label="Name" autoComplete="off" value={value.name} onChange={(event) => set({ name: event.target.value })} />
        <Text label="First password" type="password" autoComplete="new-password" value={value.password} onChange={(event) => set({ password: event.target.value })} note="the user can change it" />
        <div className={form.row}>
          <label htmlFor="new-user-role">Role</label>
          <div>
            <select id="new-user-role" value={value.isAdministrator ? 'administrator' : 'reader'} onChange={(event) => set({ isAdministrator: event.target.value === 'administrator' })}>
              <option value="reader">reader: looks, and changes nothing</option>
              <option value="administrator">administrator: changes everything</option>
            </select>
          </div>
        </div>
        {!value.isAdministrator && (
          <div className={form.row}>
            <label htmlFor="new-user-tenant">Tenant</label>
            <div>
              <select id="new-user-tenant" value={value.tenant} onChange={(event) => set({ tenant: event.target.value })}>
                {tenants.map((one) => (
                  <option key={one.uuid} value={one.uuid}>{one.name}</option>
                ))}
                <option value="*">all tenants</option>
              </select>
            </div>
          </div>
        )}
      </div>
    </Confirm>
  )
}
