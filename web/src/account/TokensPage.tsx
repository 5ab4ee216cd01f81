import { useState } from 'react'
import { send } from '../api/changes'
import type { List } from '../api/types'
import { useData } from '../api/useData'
import change from '../form/change.module.css'
import { Confirm } from '../form/Confirm'
import form from '../form/form.module.css'
import { Panel } from '../part/Panel'
import { Empty, Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { clock } from '../time/format'
import css from './account.module.css'
import { Copy } from './Copy'
import { Settings } from './Settings'

interface Token {
  uuid: string
  expires_at: string
  token?: string
}

const everyMs = 10_000

const lifetimes = [
  { hours: 1, text: 'an hour' },
  { hours: 24, text: 'a day' },
  { hours: 24 * 30, text: '30 days' },
  { hours: 24 * 365, text: 'a year' },
]

/** Tokens with which programs log in as the user. */
export default function TokensPage() {
  const tokens = useData<List<Token>>('/api/user-token', everyMs)
  const [hours, setHours] = useState(24)
  const [made, setMade] = useState<Token>()
  const [problem, setProblem] = useState('')
  const [leaving, setLeaving] = useState<Token>()
  const make = async () => {
    setProblem('')
    try {
      setMade((await send<Token>({ method: 'POST', path: '/api/user-token', tenant: '', body: { hours: String(hours) } })).value)
      tokens.retry()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const columns: Column<Token>[] = [
    { key: 'uuid', head: 'Token', width: 'minmax(200px, 1fr)', sort: (token) => token.uuid, cell: (token) => <code>{token.uuid}</code> },
    { key: 'expires', head: 'Valid until', width: '160px', sort: (token) => token.expires_at, cell: (token) => clock(token.expires_at) },
    { key: 'act', head: 'Actions', width: '110px', cell: (token) => <span className={change.actions}><button type="button" className={change.danger} onClick={() => setLeaving(token)}>Revoke</button></span> },
  ]
  return (
    <Settings title="Your tokens">
      <Panel title="New token" note="for programs: it can do what you can, but make no other tokens">
        <div className={`${form.form} ${css.inner}`}>
          <div className={form.row}>
            <label htmlFor="lifetime">Valid for</label>
            <div>
              <select id="lifetime" value={hours} onChange={(event) => setHours(Number(event.target.value))}>
                {lifetimes.map((one) => (
                  <option key={one.hours} value={one.hours}>{one.text}</option>
                ))}
              </select>
            </div>
          </div>
          <p className={change.actions}>
            <button type="button" className={change.primary} onClick={() => void make()}>Make a token</button>
            {problem && <span role="alert" className={change.wrong}>{problem}</span>}
          </p>
          {made?.token && (
            <>
              <p role="status">Keep it now: it is not stored, and cannot be shown again.</p>
              <Copy label="Token" text={made.token} />
              <p className={css.hint}>Use it as <code>Authorization: Bearer TOKEN</code>, or as <code>token</code> at the login.</p>
            </>
          )}
        </div>
      </Panel>
      <Shown of={tokens} what="your tokens">
        {({ results }) => (
          <Panel title="Tokens">
            {results.length === 0 ? <Empty title="You have no tokens">A program that uses the API needs one.</Empty> : <Table label="Tokens" rows={results} columns={columns} id={(token) => token.uuid} first="expires" />}
          </Panel>
        )}
      </Shown>
      {leaving && (
        <Confirm
          title="Revoke this token?"
          does="Revoke"
          isDangerous
          onClose={() => setLeaving(undefined)}
          onConfirm={async () => {
            await send({ method: 'DELETE', path: `/api/user-token/${leaving.uuid}`, tenant: '' })
            tokens.retry()
          }}
        >
          <p>Programs that use it are logged out at once.</p>
        </Confirm>
      )}
    </Settings>
  )
}
