import { useEngines } from '../api/objects'
import { type Named, uuidOf } from '../api/types'
import { useList } from '../api/useData'
import form from '../form/form.module.css'
import type { Pasted } from '../form/servers'
import { CertificateInputs } from './CertificateInputs'
import { type Draft, type Input, portOf, protocols, type Vip } from './draft'
import { Choice, Line } from './Line'
import { PoolInputs } from './PoolInputs'

const everyMs = 30_000

interface Props {
  draft: Draft
  pasted: Pasted
  vips: Vip[]
  /** The one that has the address of the draft. */
  vip: Vip | undefined
  problemOf: (input: Input) => string | undefined
  set: (part: Partial<Draft>) => void
}

/** What the wizard of a service asks for. */
export function ServiceInputs({ draft, pasted, vips, vip, problemOf, set }: Props) {
  return (
    <>
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
    </>
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
