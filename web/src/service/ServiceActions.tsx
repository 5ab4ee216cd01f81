import { useState } from 'react'
import { changeObject, readObject, removeWith } from '../api/changes'
import { mayAudit } from '../api/roles'
import { useSession } from '../api/session'
import { type Service, uuidOf } from '../api/types'
import { useTenant } from '../api/useData'
import { Act, ActLink, Actions } from '../form/Act'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { PurgeCache } from './PurgeCache'
import css from './service.module.css'

const kind = 'virtualservice'

/** What was made for a service, most often. */
function partsOf(of: Service): { kind: string; uuid: string }[] {
  return [
    { kind: 'pool', uuid: uuidOf(of.pool_ref) },
    { kind: 'vsvip', uuid: uuidOf(of.vsvip_ref) },
  ].filter((part) => part.uuid !== '')
}

function Deletion({ isWhole, onChange }: { isWhole: boolean; onChange: (isWhole: boolean) => void }) {
  return (
    <>
      Engines stop serving it, and its clients are refused. Undo makes it again, until somebody else takes its name or port.
      <label className={css.also}>
        <input type="checkbox" checked={isWhole} onChange={(event) => onChange(event.target.checked)} />
        Delete its pool and its address, too, where nothing else uses them. Certificates stay.
      </label>
    </>
  )
}

/** What one does with a virtual service where one looks at it. */
export function ServiceActions({ of }: { of: Service }) {
  const tenant = useTenant()
  const { user } = useSession()
  const [isWhole, setWhole] = useState(false)
  const isOn = of.enabled !== false
  const set = (enabled: boolean) => () =>
    changeObject(kind, of.uuid, tenant, `service ${of.name} ${enabled ? 'enabled' : 'disabled'}`, (object) => ({ ...object, enabled }))
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      {mayAudit(user) && <Link to={`/audit?f=${encodeURIComponent(of.uuid)}`}>Changes</Link>}
      {isOn ? (
        <Act kind={kind} does={set(false)} asks={{ title: `Disable service ${of.name}?`, text: 'Engines stop serving it: its clients are refused until it is enabled again.' }}>Disable</Act>
      ) : (
        <Act kind={kind} does={set(true)}>Enable</Act>
      )}
      <PurgeCache of={of} />
      <Act
        kind={kind}
        needs="may_delete"
        isDangerous
        asks={{ title: `Delete service ${of.name}?`, text: <Deletion isWhole={isWhole} onChange={setWhole} /> }}
        does={async () => {
          await removeWith(kind, await readObject(kind, of.uuid, tenant), isWhole ? partsOf(of) : [], tenant, `service ${of.name} deleted`)
          go('/services')
        }}
      >
        Delete
      </Act>
    </Actions>
  )
}
