import { changeObject, readObject, removeObject } from '../api/changes'
import { useSession } from '../api/session'
import type { Service } from '../api/types'
import { useTenant } from '../api/useData'
import { Act, ActLink, Actions } from '../form/Act'
import { Link } from '../url/Link'
import { go } from '../url/location'

const kind = 'virtualservice'

/** What one does with a virtual service where one looks at it. */
export function ServiceActions({ of }: { of: Service }) {
  const tenant = useTenant()
  const { user } = useSession()
  const isOn = of.enabled !== false
  const set = (enabled: boolean) => () =>
    changeObject(kind, of.uuid, tenant, `service ${of.name} ${enabled ? 'enabled' : 'disabled'}`, (object) => ({ ...object, enabled }))
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      {user?.is_superuser && <Link to={`/audit?f=${encodeURIComponent(of.uuid)}`}>Changes</Link>}
      {isOn ? (
        <Act kind={kind} does={set(false)} asks={{ title: `Disable service ${of.name}?`, text: 'Engines stop serving it: its clients are refused until it is enabled again.' }}>Disable</Act>
      ) : (
        <Act kind={kind} does={set(true)}>Enable</Act>
      )}
      <Act
        kind={kind}
        needs="may_delete"
        isDangerous
        asks={{ title: `Delete service ${of.name}?`, text: 'Engines stop serving it, and its clients are refused. Its pool, address and certificates stay. Undo makes it again, until somebody else takes its name or port.' }}
        does={async () => {
          await removeObject(kind, await readObject(kind, of.uuid, tenant), tenant, `service ${of.name} deleted`)
          go('/services')
        }}
      >
        Delete
      </Act>
    </Actions>
  )
}
