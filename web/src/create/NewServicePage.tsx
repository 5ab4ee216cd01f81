import { type FormEvent, type KeyboardEvent, useMemo, useState } from 'react'
import { createTree } from '../api/changes'
import { ApiError } from '../api/client'
import { useSession } from '../api/session'
import type { Vip as VsVip } from '../api/types'
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
import css from './create.module.css'
import { type Draft, empty, inputOf, problemsOf, serviceOf, shown, type Vip, willCreate } from './draft'
import { ServiceInputs } from './ServiceInputs'
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
            <ServiceInputs draft={draft} pasted={pasted} vips={vips} vip={vip} problemOf={problemOf} set={set} />
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

/** The addresses that are there. One of several addresses cannot be shared by typing one. */
function useVips(): Vip[] {
  const list = useList<VsVip>('/api/vsvip?fields=name,vip', everyMs)
  return (list.value?.results ?? []).flatMap(({ uuid, name, vip }) => {
    const address = vip?.[0]?.ip_address?.addr ?? vip?.[0]?.ip6_address?.addr
    return vip?.length === 1 && address ? [{ uuid, name, address }] : []
  })
}
