import { useState } from 'react'
import { type Access, sumOf } from '../api/roles'
import { useSession } from '../api/session'
import { nameOf } from '../api/types'
import { Panel, Reasons } from '../part/Panel'
import css from './account.module.css'
import { PasswordForm } from './PasswordForm'
import { Settings } from './Settings'

const rolesOf = (access: Access[] | undefined) => (access ?? []).map((one) => `${nameOf(one.role_ref) || 'reader'} in ${one.all_tenants ? 'all tenants' : nameOf(one.tenant_ref)}`).join(', ')

/** The account of the user: what it may do, and its password. */
export default function AccountPage() {
  const { user, tenants } = useSession()
  const [isDone, setDone] = useState(false)
  return (
    <Settings title="Your account">
      <Panel title={user?.username ?? ''}>
        <div className={css.inner}>
          <Reasons
            of={[
              user?.is_superuser ? 'You are an administrator: you may change everything.' : `Your roles: ${rolesOf(user?.access) || 'none'}. In your own tenant, all of them together: ${sumOf(user?.weir_privileges)} resources.`,
              tenants.length === 0 ? 'You have access to no tenant.' : `Tenants: ${tenants.map((one) => one.name).join(', ')}`,
            ]}
          />
        </div>
      </Panel>
      <Panel title="Password" note="the other sessions and all tokens of this account end when it changes">
        <div className={css.inner}>
          {isDone && <p role="status" data-look="good">The password is changed.</p>}
          <PasswordForm key={String(isDone)} does="Change the password" old="Password now" onDone={() => setDone(true)} />
        </div>
      </Panel>
    </Settings>
  )
}
