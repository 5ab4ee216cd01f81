import { useState } from 'react'
import { changeObject } from '../api/changes'
import type { Access } from '../api/roles'
import type { Json } from '../api/value'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { AccessInput } from './AccessInput'

/** Asks for the roles of a user. */
export function UserRoles({ uuid, username, access, onClose }: { uuid: string; username: string; access: Access[]; onClose: () => void }) {
  const [value, setValue] = useState(access)
  const save = async () => {
    await changeObject('user', uuid, '', `roles of user ${username} changed`, (object) => ({ ...object, access: value.map(written) as unknown as Json }))
  }
  return (
    <Confirm title={`Roles of ${username}`} does="Save" onClose={onClose} onConfirm={save}>
      <div className={form.form}>
        <AccessInput value={value} onChange={setValue} />
        <p className={form.note}>In a tenant, the user may do what any of the roles there allows. Nobody can give more than he may do himself.</p>
      </div>
    </Confirm>
  )
}

/** An entry of access as it is written: an empty reference is none. */
export function written({ role_ref, ...entry }: Access): Access {
  return role_ref ? { ...entry, role_ref } : entry
}
