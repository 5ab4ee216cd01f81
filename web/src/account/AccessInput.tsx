import type { Access } from '../api/roles'
import { useSession } from '../api/session'
import { nameOf, uuidOf } from '../api/types'
import change from '../form/change.module.css'
import { useRoles } from './RolesPanel'
import css from './account.module.css'

const everywhere = '*'
const reader = ''

interface Props {
  value: Access[]
  onChange: (value: Access[]) => void
}

const tenantOf = (entry: Access) => (entry.all_tenants ? everywhere : uuidOf(entry.tenant_ref))

/** The roles of a user: one in each tenant, or in all. */
export function AccessInput({ value, onChange }: Props) {
  const { tenants } = useSession()
  const roles = useRoles().value?.results ?? []
  const set = (at: number, part: Partial<Access>) => onChange(value.map((entry, other) => (other === at ? { ...entry, ...part } : entry)))
  return (
    <div className={css.access}>
      {value.map((entry, at) => (
        <p key={at} className={css.entry}>
          <select aria-label={`Role ${at + 1}`} value={uuidOf(entry.role_ref)} onChange={(event) => set(at, { role_ref: event.target.value === reader ? '' : `/api/role/${event.target.value}` })}>
            <option value={reader}>reader: looks, and changes nothing</option>
            {entry.role_ref && !roles.some((role) => role.uuid === uuidOf(entry.role_ref)) && <option value={uuidOf(entry.role_ref)}>{nameOf(entry.role_ref) || uuidOf(entry.role_ref)}</option>}
            {roles.map((role) => (
              <option key={role.uuid} value={role.uuid}>{role.name}</option>
            ))}
          </select>
          <select
            aria-label={`Tenant ${at + 1}`}
            value={tenantOf(entry)}
            onChange={(event) => set(at, event.target.value === everywhere ? { all_tenants: true, tenant_ref: '/api/tenant/admin' } : { all_tenants: false, tenant_ref: `/api/tenant/${event.target.value}` })}
          >
            {tenants.map((one) => (
              <option key={one.uuid} value={one.uuid}>{`in ${one.name}`}</option>
            ))}
            <option value={everywhere}>in all tenants</option>
          </select>
          <button type="button" aria-label={`Remove role ${at + 1}`} onClick={() => onChange(value.filter((_, other) => other !== at))}>✕</button>
        </p>
      ))}
      <p className={change.actions}>
        <button type="button" onClick={() => onChange([...value, { role_ref: '', tenant_ref: `/api/tenant/${tenants[0]?.uuid ?? 'admin'}`, all_tenants: false }])}>Add a role</button>
      </p>
    </div>
  )
}
