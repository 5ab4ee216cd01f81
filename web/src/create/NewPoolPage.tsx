import { type FormEvent, useMemo, useState } from 'react'
import { createObject } from '../api/changes'
import { useUnsaved } from '../url/unsaved'
import { useTenant } from '../api/useData'
import { useMay } from '../form/Act'
import change from '../form/change.module.css'
import form from '../form/form.module.css'
import { refusalOf } from '../form/useEdit'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Link } from '../url/Link'
import { go } from '../url/location'
import css from './create.module.css'
import { type Draft, empty, poolOf, serversProblem } from './draft'
import { Line } from './Line'
import { PoolInputs } from './PoolInputs'
import { parseServers } from '../form/servers'

/** A pool of pasted servers. */
export default function NewPoolPage() {
  const tenant = useTenant()
  const may = useMay('pool')
  const [draft, setDraft] = useState<Draft>({ ...empty, protocol: 'http' })
  const [isTried, setTried] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [message, setMessage] = useState('')
  const pasted = useMemo(() => parseServers(draft.servers), [draft.servers])
  const made = poolOf(draft, draft.name.trim(), pasted.servers)
  const nameProblem = draft.name.trim() ? '' : 'Give it a name.'
  const wrong = serversProblem(draft, pasted)
  useUnsaved(draft.name !== '' || draft.servers !== '')
  const set = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part })
    setMessage('')
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (nameProblem || wrong) return
    setBusy(true)
    try {
      const pool = await createObject('pool', made, tenant, `pool ${draft.name.trim()} created`)
      setDraft(empty)
      go(`/pools/${String(pool['uuid'])}`)
    } catch (error) {
      setMessage(refusalOf(error).message)
      setBusy(false)
    }
  }
  const isRefused = may?.may_create === false
  return (
    <Page title="New pool" lead={<Link to="/new" className={css.other}>a whole service</Link>}>
      {isRefused && <p className={css.readonly}>{`You can look, and not create: ${may.why_not ?? ''}`}</p>}
      <form className={css.sides} onSubmit={(event) => void submit(event)} noValidate>
        <Panel title="Servers">
          <div className={`${form.form} ${css.inner}`}>
            <Line name="Name" problem={isTried ? nameProblem : undefined}>
              {(ties) => <input {...ties} type="text" autoFocus spellCheck={false} autoComplete="off" value={draft.name} onChange={(event) => set({ name: event.target.value })} />}
            </Line>
            <PoolInputs draft={draft} pasted={pasted} problem={isTried ? wrong : undefined} set={set} />
          </div>
        </Panel>
        <Panel title="You will create">
          <div className={css.inner}>
            <ul className={css.will}>
              <li>{`pool ${draft.name.trim() || '…'} with ${pasted.servers.length} ${pasted.servers.length === 1 ? 'server' : 'servers'}`}</li>
            </ul>
            {message && <p role="alert" className={change.wrong}>{message}</p>}
            <p className={change.actions}>
              <button type="submit" className={change.primary} disabled={isBusy || isRefused} title={isRefused ? may.why_not : undefined}>Create</button>
              <span className={change.dim}>no service uses it until one refers to it</span>
            </p>
            <details className={form.section}>
              <summary>As JSON <span>POST /api/pool</span></summary>
              <pre className={css.json} tabIndex={0}>{JSON.stringify(made, null, 2)}</pre>
            </details>
          </div>
        </Panel>
      </form>
    </Page>
  )
}
