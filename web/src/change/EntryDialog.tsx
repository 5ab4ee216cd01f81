import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useState } from 'react'
import { createObject, readObject, removeObject, replaceObject, send } from '../api/changes'
import { revealText } from '../api/reveal'
import type { List } from '../api/types'
import { differences, isObject } from '../api/value'
import change from '../form/change.module.css'
import { Diff } from '../form/Diff'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import { setParam } from '../url/location'
import css from './change.module.css'
import { before, type Entry, idOf, whyNot, writtenSince } from './undo'

const tenant = '*' // administrators read the audit trail of all tenants
const close = () => setParam('entry', '')

/** One entry of the audit trail: what was there, what is there since, and a way back. */
export function EntryDialog({ id }: { id: string }) {
  const [entry, setEntry] = useState<Entry>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let isOld = false
    readEntry(id).then(
      (found) => !isOld && (found ? setEntry(found) : setProblem('The audit trail does not have it any more.')),
      (error: Error) => !isOld && setProblem(error.message),
    )
    return () => {
      isOld = true
    }
  }, [id])
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={change.backdrop} />
        <Dialog.Popup className={change.dialog}>
          <Dialog.Title>{entry ? revealText(`${entry.action} ${entry.kind} ${entry.name || entry.object}`) : 'Audit entry'}</Dialog.Title>
          {problem && <p role="alert" className={change.wrong}>{problem}</p>}
          {entry && <Content entry={entry} />}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Content({ entry }: { entry: Entry }) {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const why = whyNot(entry)
  const press = async () => {
    setBusy(true)
    try {
      await undo(entry)
      close()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setBusy(false)
    }
  }
  const uuid = entry.action === 'create' ? (isObject(entry.new) ? String(entry.new['uuid'] ?? '') : '') : entry.object
  const hasDiff = isObject(entry.old) || isObject(entry.new)
  return (
    <>
      <dl className={css.facts}>
        <dt>Who</dt>
        <dd>{revealText(`${entry.user}${entry.address ? ` from ${entry.address}` : ''}`)}</dd>
        <dt>When</dt>
        <dd>{clock(entry.time)}</dd>
        {entry.tenant && <><dt>Tenant</dt><dd>{revealText(entry.tenant)}</dd></>}
        <dt>Object</dt>
        <dd>{uuid && entry.action !== 'delete' && hasDiff ? <Link to={`/objects/${entry.kind}/${uuid}`}>{revealText(uuid)}</Link> : revealText(entry.object)}</dd>
        {entry.refused && <><dt>Refused</dt><dd data-look="bad">{revealText(entry.refused)}</dd></>}
      </dl>
      {hasDiff && <Diff of={differences(sideOf(entry.old), sideOf(entry.new))} />}
      {problem && <p role="alert" className={change.wrong}>{`Not undone: ${problem}`}</p>}
      <p className={change.actions}>
        <button disabled={why !== '' || isBusy} onClick={() => void press()}>Undo</button>
        <Dialog.Close>Close</Dialog.Close>
        {why && <span className={change.dim}>{why}</span>}
      </p>
    </>
  )
}

const sideOf = (side: Entry['old']) => (isObject(side) ? side : undefined)

/** The entry as it was written, with line ends and characters that do not show: what is undone goes back. */
async function readEntry(id: string): Promise<Entry | undefined> {
  const at = new Date(id.split(' ')[0] ?? '')
  const start = new Date(Math.floor(at.getTime() / 1000) * 1000)
  const end = new Date(start.getTime() + 1000)
  const path = `/api/audit?page_size=10000&start=${rfc3339(start)}&end=${rfc3339(end)}`
  const { value } = await send<List<Entry>>({ method: 'GET', path, tenant })
  return value.results.find((one) => revealText(idOf(one)) === id)
}

const rfc3339 = (at: Date) => at.toISOString().replace('.000', '')

async function undo(entry: Entry) {
  const text = `undone: ${entry.action} ${entry.kind} ${entry.name || entry.object}`
  if (entry.action === 'delete') {
    if (isObject(entry.old)) await createObject(entry.kind, entry.old, tenant, text, entry.object)
    return
  }
  if (entry.action === 'create') {
    const uuid = isObject(entry.new) ? String(entry.new['uuid']) : ''
    const current = await readObject(entry.kind, uuid, tenant)
    await refuseIfWritten(uuid, entry.time)
    await removeObject(entry.kind, current, tenant, text)
    return
  }
  const current = await readObject(entry.kind, entry.object, tenant)
  const written = writtenSince(entry, current)
  if (written.length > 0) throw new Error(`somebody has changed ${written.join(', ')} since.`)
  await replaceObject(entry.kind, current, before(entry, current), tenant, text)
}

/** Refuses if an object was changed since it was created. */
async function refuseIfWritten(uuid: string, since: string) {
  const start = rfc3339(new Date(Math.floor(new Date(since).getTime() / 1000) * 1000))
  const filter = encodeURIComponent(`eq(object,"${uuid}")`)
  const { value } = await send<List<Entry>>({ method: 'GET', path: `/api/audit?start=${start}&filter=${filter}`, tenant })
  const later = value.results.find((one) => !one.refused)
  if (later) throw new Error(`${later.user} has changed it since (${clock(later.time)}).`)
}
