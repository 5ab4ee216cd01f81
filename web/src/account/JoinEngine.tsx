import { useState } from 'react'
import { send } from '../api/changes'
import { useEngines } from '../api/objects'
import { levelOf } from '../api/roles'
import { useSession } from '../api/session'
import type { Engine } from '../api/types'
import { Act, Actions } from '../form/Act'
import form from '../form/form.module.css'
import { State } from '../part/State'
import { age } from '../time/format'
import { Link } from '../url/Link'
import css from './account.module.css'
import { Copy } from './Copy'
import { isEngineName, joinCommand } from './join'
import { Text } from './Text'

interface Token {
  auth_token: string
  weir_engine_port?: string
}

const everyMs = 1000

/** Makes the command with which an engine joins, and shows who joins meanwhile. */
export function JoinEngine() {
  const [host, setHost] = useState(window.location.hostname)
  const [name, setName] = useState('')
  const [token, setToken] = useState<Token>()
  const [known, setKnown] = useState<string[]>()
  const engines = useEngines(everyMs).value?.results
  const { user } = useSession()
  const lacks = user?.is_superuser || levelOf(user?.weir_privileges, 'PERMISSION_SE_TOKEN') === 'WRITE_ACCESS' ? '' : 'You lack WRITE_ACCESS to PERMISSION_SE_TOKEN in tenant admin: an administrator can give you a role that has it.'
  const joined = known && (engines ?? []).filter((engine) => !known.includes(engine.uuid))
  const make = async () => {
    if (!isEngineName(name)) throw new Error('No engine can have this name.')
    const { value } = await send<Token>({ method: 'POST', path: '/api/securetoken-generate', tenant: '', body: {} })
    setToken(value)
    setKnown((engines ?? []).map((engine) => engine.uuid))
  }
  return (
    <div className={form.form}>
      <Text label="Address of the controller" note="as the machine of the engine reaches it" value={host} onChange={(event) => setHost(event.target.value.trim())} />
      <Text label="Name of the engine" note="letters, digits, dots and dashes; empty: the name of its machine" problem={isEngineName(name) ? undefined : 'Give letters, digits, dots and dashes.'} value={name} onChange={(event) => setName(event.target.value)} />
      <Actions>
        <Act kind="serviceengine" lacks={lacks} does={make}>{token ? 'Make another command' : 'Make the command'}</Act>
      </Actions>
      {token && (
        <>
          <p>Run this as root on the machine that shall serve. It has the programs <code>weir</code> and <code>weir-dataplane</code>. The token is for one engine, and for ten minutes.</p>
          <Copy label="Command" text={joinCommand(host, token.weir_engine_port || '9444', token.auth_token, name)} />
          <ul className={css.joined} aria-live="polite">
            {joined?.length === 0 && <li className={css.waiting}>Waiting for the engine…</li>}
            {joined?.map((engine) => (
              <Joined key={engine.uuid} engine={engine} />
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

function Joined({ engine }: { engine: Engine }) {
  return (
    <li>
      <State state={engine.runtime?.oper_status.state ?? ''} reasons={engine.runtime?.oper_status.reason} />
      <Link to={`/engines/${engine.uuid}`}>{engine.name}</Link>
      <span>{engine.runtime?.se_connected ? `has joined, connected for ${age(engine.runtime.since)}` : 'has joined, not connected yet'}</span>
    </li>
  )
}
