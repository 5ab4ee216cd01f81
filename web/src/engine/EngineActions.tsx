import { changeObject, readObject, removeObject } from '../api/changes'
import type { Engine } from '../api/types'
import { useTenant } from '../api/useData'
import { Act, ActLink, Actions } from '../form/Act'

const kind = 'serviceengine'

/** What one does with an engine where one looks at it. */
export function EngineActions({ of }: { of: Engine }) {
  const tenant = useTenant()
  const set = (state: string, said: string) => () =>
    changeObject(kind, of.uuid, tenant, `engine ${of.name} ${said}`, (object) => ({ ...object, enable_state: state }))
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      {of.enable_state === 'SE_STATE_ENABLED' ? (
        <Act
          kind={kind}
          does={set('SE_STATE_DISABLED', 'disabled')}
          asks={{ title: `Disable engine ${of.name}?`, text: 'Its virtual services move to other engines, which serve first; then it drains. One for which there is no other engine stays.' }}
        >
          Disable
        </Act>
      ) : (
        <Act kind={kind} does={set('SE_STATE_ENABLED', 'enabled')}>Enable</Act>
      )}
      {of.runtime?.se_connected === false && (
        <Act
          kind={kind}
          needs="may_delete"
          isDangerous
          asks={{ title: `Forget engine ${of.name}?`, text: 'It has no session now. Its certificate counts no more: it comes back only with a new join token.' }}
          does={async () => removeObject(kind, await readObject(kind, of.uuid, tenant), tenant, `engine ${of.name} forgotten`, false)}
        >
          Forget
        </Act>
      )}
    </Actions>
  )
}
