import { useState } from 'react'
import { createObject } from '../api/changes'
import type { Access } from '../api/roles'
import { useSession } from '../api/session'
import { uuidOf } from '../api/types'
import type { Json } from '../api/value'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { AccessInput } from './AccessInput'
import { Text } from './Text'
import { written } from './UserRoles'

/** Asks for a new account. */
export function NewUser({ onClose }: { onClose: () => void }) {
  const { tenants, user } = useSession()
  const first: Access[] = [{ role_ref: '', tenant_ref: `/api/tenant/${tenants[0]?.uuid ?? 'admin'}`, all_tenants: false }]
  const [value, setValue] = useState({ username: '', name: '', password: '', isAdministrator: false, access: first })
  const set = (part: Partial<typeof value>) => setValue({ ...value, ...part })
  const create = async () => {
    if (!value.username.trim()) throw new Error('Give the user a name to log in with.')
    const username = value.username.trim()
    const access = value.isAdministrator ? [] : value.access.map(written)
    const home = uuidOf(access[0]?.tenant_ref) || 'admin'
    await createObject(
      'user',
      { name: username, username, full_name: value.name, password: value.password, is_superuser: value.isAdministrator, access: access as unknown as Json, default_tenant_ref: `/api/tenant/${home}` },
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
        {user?.is_superuser && (
          <div className={form.row}>
            <label htmlFor="new-user-administrator">Administrator</label>
            <div>
              <input id="new-user-administrator" type="checkbox" checked={value.isAdministrator} onChange={(event) => set({ isAdministrator: event.target.checked })} />
              <p className={form.note}>changes everything, in all tenants</p>
            </div>
          </div>
        )}
        {!value.isAdministrator && (
          <fieldset className={form.row}>
            <legend>Roles</legend>
            <AccessInput value={value.access} onChange={(access) => set({ access })} />
          </fieldset>
        )}
      </div>
    </Confirm>
  )
}
