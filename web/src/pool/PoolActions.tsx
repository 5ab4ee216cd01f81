import { useState } from 'react'
import { changeObject, readObject, removeObject } from '../api/changes'
import type { Pool, ServerRuntime } from '../api/types'
import { useTenant } from '../api/useData'
import { Act, ActLink, Actions } from '../form/Act'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { parseServers, textOf } from '../form/servers'
import { go } from '../url/location'
import { withoutServer, withServer, withServers } from './edit'

const kind = 'pool'

/** What one does with a pool where one looks at it. */
export function PoolActions({ of }: { of: Pool }) {
  const tenant = useTenant()
  const [isAdding, setAdding] = useState(false)
  return (
    <Actions>
      <ActLink kind={kind} to={`/objects/${kind}/${of.uuid}`}>Edit</ActLink>
      <Act kind={kind} does={async () => setAdding(true)}>Add servers</Act>
      <Act
        kind={kind}
        needs="may_delete"
        isDangerous
        asks={{ title: `Delete pool ${of.name}?`, text: 'A service that uses it keeps it from being deleted.' }}
        does={async () => {
          await removeObject(kind, await readObject(kind, of.uuid, tenant), tenant, `pool ${of.name} deleted`)
          go('/objects/pool')
        }}
      >
        Delete
      </Act>
      {isAdding && <AddServers of={of} tenant={tenant} onClose={() => setAdding(false)} />}
    </Actions>
  )
}

function AddServers({ of, tenant, onClose }: { of: Pool; tenant: string; onClose: () => void }) {
  const [text, setText] = useState('')
  const { servers, problems } = parseServers(text)
  const add = async () => {
    if (problems[0]) throw new Error(problems[0])
    if (servers.length === 0) throw new Error('Give at least one server.')
    const said = servers.length === 1 && servers[0] ? `server ${textOf(servers[0])}` : `${servers.length} servers`
    await changeObject(kind, of.uuid, tenant, `pool ${of.name}: ${said} added`, (pool) => withServers(pool, servers))
  }
  return (
    <Confirm title={`Add servers to pool ${of.name}`} does="Add" onClose={onClose} onConfirm={add}>
      <label className={form.form}>
        <span>A list, with ranges of the last number</span>
        <textarea rows={4} spellCheck={false} placeholder="10.0.0.7:8080, 10.0.0.8-20:8080" value={text} onChange={(event) => setText(event.target.value)} />
        <small className={form.note}>{servers.length === 0 ? 'Without a port, it is that of the pool.' : `${servers.length} ${servers.length === 1 ? 'server' : 'servers'}`}</small>
      </label>
    </Confirm>
  )
}

/** What one does with one server. Disabling drains it: what is open may end. */
export function ServerActions({ pool, server }: { pool: Pool; server: ServerRuntime }) {
  const tenant = useTenant()
  const id = server.server_id
  const set = (enabled: boolean) => () =>
    changeObject(kind, pool.uuid, tenant, `pool ${pool.name}: server ${id} ${enabled ? 'enabled' : 'disabled'}`, (object) => withServer(object, id, enabled))
  if (server.oper_status.state === 'OPER_DISABLED') {
    return (
      <Actions>
        <Act kind={kind} does={set(true)}>Enable</Act>
        <Act
          kind={kind}
          isDangerous
          asks={{ title: `Remove server ${id} from pool ${pool.name}?`, text: 'It is disabled already, so no client notices.' }}
          does={() => changeObject(kind, pool.uuid, tenant, `pool ${pool.name}: server ${id} removed`, (object) => withoutServer(object, id))}
        >
          Remove
        </Act>
      </Actions>
    )
  }
  return (
    <Actions>
      <Act kind={kind} does={set(false)}>Drain</Act>
    </Actions>
  )
}
