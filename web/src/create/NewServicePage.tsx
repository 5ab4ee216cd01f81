import { type FormEvent, type KeyboardEvent, useMemo, useState } from 'react'
import { createTree } from '../api/changes'
import { ApiError } from '../api/client'
import { useEngines } from '../api/objects'
import { useSession } from '../api/session'
import { uuidOf, type Named, type Vip as VsVip } from '../api/types'
import { useUnsaved } from '../url/unsaved'
import { useList, useTenant } from '../api/useData'
import { useMay } from '../form/Act'
import change from '../form/change.module.css'
import form from '../form/form.module.css'
import { refusalOf } from '../form/useEdit'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { CertificateInputs } from './CertificateInputs'
import css from './create.module.css'
import { type Draft, empty, inputOf, portOf, problemsOf, protocols, serviceOf, shown, type Vip, willCreate } from './draft'
import { Choice, Line } from './Line'
import { PoolInputs } from './PoolInputs'
import { parseServers } from '../form/servers'

const everyMs = 30_000

/** A virtual service with all that it needs, on one screen. */
export default function NewServicePage() {
  const tenant = useTenant()
  const { tenants } = useSession()
  const may = useMay('virtualservice')
  const [draft, setDraft] = useState<Draft>(empty)
  const [isTried, setTried] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<{ message: string; input: ReturnType<typeof inputOf> }>()
  const vips = useVips()
  const pasted = useMemo(() => parseServers(draft.servers), [draft.servers])
  const vip = vips.find((one) => one.address === draft.address.trim())
  const made = serviceOf(draft, pasted.servers, vip)
  const missing = problemsOf(draft, pasted)
  const problems = isTried ? missing : {}
  const problemOf = (input: keyof typeof missing) => (refusal?.input === input ? refusal.message : problems[input])
  useUnsaved(draft !== empty)
  const set = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part })
    setRefusal(undefined)
  }
  const create = async () => {
    setTried(true)
    if (Object.keys(missing).length > 0) return
    setBusy(true)
    try {
      const service = await createTree('VirtualService', made, tenant, `service ${draft.name.trim()} created`)
      setDraft(empty)
      go(`/services/${String(service['uuid'])}`)
    } catch (error) {
      const said = refusalOf(error)
      const about = error instanceof ApiError ? error.about : undefined
      const input = about && inputOf(about.kind, about.field)
      setRefusal({ message: input && about ? about.problem : said.message, input })
      setBusy(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void create()
  }
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void create()
  }
  const tenantName = tenants.length > 1 ? (tenants.find((one) => one.uuid === (tenant === '*' || tenant === '' ? 'admin' : tenant))?.name ?? '') : ''
  const isRefused = may?.may_create === false
  return (
    <Page title="New service" lead={<Link to="/new/pool" className={css.other}>only a pool</Link>}>
      {isRefused && <p className={css.readonly}>{`You can look, and not create: ${may.why_not ?? ''}`}</p>}
      <form className={css.sides} onSubmit={submit} onKeyDown={press} noValidate>
        <Panel title="What clients see, and who serves them">
          <div className={`${form.form} ${css.inner}`}>
            <Line name="Name" problem={problemOf('name')}>
              {(ties) => <input {...ties} type="text" autoFocus spellCheck={false} autoComplete="off" value={draft.name} onChange={(event) => set({ name: event.target.value })} />}
            </Line>
            <Choice name="Kind" value={draft.protocol} of={protocols} onChange={(protocol) => set({ protocol })} />
            <Line name="Address" problem={problemOf('address')} note={vip ? `It is that of ${vip.name}, which this service shares.` : 'that clients connect to; engines announce it by BGP, or have it on an interface'}>
              {(ties) => (
                <>
                  <input {...ties} type="text" list="new-vips" spellCheck={false} autoComplete="off" placeholder="10.1.0.14" value={draft.address} onChange={(event) => set({ address: event.target.value })} />
                  <datalist id="new-vips">
                    {vips.map((one) => (
                      <option key={one.uuid} value={one.address}>{one.name}</option>
                    ))}
                  </datalist>
                </>
              )}
            </Line>
            <Line name="Port" problem={problemOf('port')}>
              {(ties) => <input {...ties} type="text" inputMode="numeric" className={form.number} autoComplete="off" placeholder={portOf({ ...draft, port: '' })} value={draft.port} onChange={(event) => set({ port: event.target.value.trim() })} />}
            </Line>
            {draft.protocol === 'https' && <CertificateInputs draft={draft} problem={problemOf('certificate')} set={set} />}
            <Pools draft={draft} set={set} />
            {!draft.pool && <PoolInputs draft={draft} pasted={pasted} problem={problemOf('servers')} set={set} />}
            <Engines draft={draft} set={set} />
            <details className={form.section}>
              <summary>More <span>HTTP/2, announcement by BGP; all other settings are in the form of the service</span></summary>
              {draft.protocol === 'https' && (
                <Line name="HTTP/2" note="offered to clients beside HTTP/1.1">{(ties) => <input {...ties} type="checkbox" checked={draft.http2} onChange={(event) => set({ http2: event.target.checked })} />}</Line>
              )}
              <Line name="Announce by BGP" note="engines tell the routers of the VRF context that they have the address">{(ties) => <input {...ties} type="checkbox" checked={draft.advertise} onChange={(event) => set({ advertise: event.target.checked })} />}</Line>
            </details>
          </div>
        </Panel>
        <Panel title="You will create">
          <div className={css.inner}>
            <ul className={css.will}>
              {willCreate(draft, pasted.servers, vip, tenantName).map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
            {refusal?.input && <p className={change.wrong}>{`Nothing was created: see ${refusal.input}.`}</p>}
            {refusal && !refusal.input && <p role="alert" className={change.wrong}>{refusal.message}</p>}
            {isTried && Object.keys(missing).length > 0 && <p className={change.wrong}>{Object.values(missing)[0]}</p>}
            <p className={change.actions}>
              <button type="submit" className={change.primary} disabled={isBusy || isRefused} title={isRefused ? may.why_not : 'Ctrl Enter'}>Create</button>
              <span className={change.dim}>all or nothing; one Undo takes it back</span>
            </p>
            <details className={form.section}>
              <summary>As JSON <span>POST /api/macro</span></summary>
              <pre className={css.json} tabIndex={0}>{JSON.stringify(shown({ model_name: 'VirtualService', data: made }), null, 2)}</pre>
            </details>
          </div>
        </Panel>
      </form>
    </Page>
  )
}

function Pools({ draft, set }: { draft: Draft; set: (part: Partial<Draft>) => void }) {
  const pools = useList<Named>('/api/pool?fields=name', everyMs).value?.results ?? []
  if (pools.length === 0) return null
  return (
    <Line name="Pool">
      {(ties) => (
        <select {...ties} value={draft.pool} onChange={(event) => set({ pool: event.target.value })}>
          <option value="">a new one, of the servers below</option>
          {pools.map((one) => (
            <option key={one.uuid} value={one.uuid}>{one.name}</option>
          ))}
        </select>
      )}
    </Line>
  )
}

function Engines({ draft, set }: { draft: Draft; set: (part: Partial<Draft>) => void }) {
  const groups = useList<Named>('/api/serviceenginegroup?fields=name', everyMs).value?.results ?? []
  const engines = useEngines(everyMs).value?.results
  const chosen = draft.group || groups.find((one) => one.name === 'Default-Group')?.uuid
  const inGroup = engines?.filter((engine) => uuidOf(engine.se_group_ref) === chosen)
  const up = inGroup?.filter((engine) => engine.runtime?.oper_status.state === 'OPER_UP').length
  return (
    <Line name="Engines" note={inGroup && (inGroup.length === 0 ? 'No engine is in this group yet: the service waits for one.' : `${up} of ${inGroup.length} engines of this group are up`)}>
      {(ties) => (
        <select {...ties} value={chosen ?? ''} onChange={(event) => set({ group: event.target.value })}>
          {groups.map((one) => (
            <option key={one.uuid} value={one.uuid}>{one.name}</option>
          ))}
        </select>
      )}
    </Line>
  )
}

/** The addresses that are there. One of several addresses cannot be shared by typing one. */
function useVips(): Vip[] {
  const list = useList<VsVip>('/api/vsvip?fields=name,vip', everyMs)
  return (list.value?.results ?? []).flatMap(({ uuid, name, vip }) => {
    const address = vip?.[0]?.ip_address?.addr ?? vip?.[0]?.ip6_address?.addr
    return vip?.length === 1 && address ? [{ uuid, name, address }] : []
  })
}
