import { Dialog } from '@base-ui/react/dialog'
import { useRef, useState } from 'react'
import type { ApiError } from '../api/client'
import { Empty, Loading } from '../part/Shown'
import { clockMs, ms } from '../time/format'
import type { Entry } from './ask'
import { TimingBar } from './columns'
import type { Field, Kind } from '../api/fields'
import css from './record.module.css'
import { headline, partsOf, text } from './sentence'
import { hasIdentity, useAt, useTold } from './told'
import { Way } from './Way'

type Pick = (name: string, value: string, isNegative: boolean) => void

interface Props {
  kind: Kind
  id: string
  /** The record, where a list has it. */
  entry: Entry | undefined
  onPick: Pick
  onClose: () => void
}

/** One record: where its time went, a sentence for each stage, and all of its fields. */
export function Drawer(props: Props) {
  const close = useRef<HTMLButtonElement>(null)
  return (
    <Dialog.Root open modal={false} onOpenChange={(open) => !open && props.onClose()}>
      <Dialog.Portal>
        <Dialog.Popup className={css.drawer} initialFocus={close}>
          <Record key={props.id} {...props} />
          <Dialog.Close ref={close} className={css.close} aria-label="Close the record">×</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** What a list has is there at once, and stays when newer records push it out. All else the controller looks up. */
function Record({ kind, id, entry, onPick }: Props) {
  const [first] = useState(entry)
  const told = useTold(kind, id, first)
  const found = useAt(kind, first || hasIdentity(id) ? null : id)
  const shown = entry ?? told.value?.record ?? found.value ?? first
  if (shown) return <Content kind={kind} entry={shown} told={told} isTold={hasIdentity(id)} onPick={onPick} />
  return (
    <>
      <Dialog.Title>Record</Dialog.Title>
      <Missing error={told.error ?? found.error} isGone={found.value === null} retry={hasIdentity(id) ? told.retry : found.retry} />
    </>
  )
}

/** Why there is no record to show, and what to do. */
function Missing({ error, isGone, retry }: { error: ApiError | undefined; isGone: boolean; retry: () => void }) {
  if (isGone || error?.status === 404) {
    return <Empty title="This record is not there, or not any more">It is older than what the controller keeps, or of another tenant than the one that is chosen at the top. If its URL came from a message, it may have been cut off.</Empty>
  }
  if (!error) return <Loading />
  if (error.status === 403) return <Empty title="You may not see this record">{error.message} Ask an administrator of the controller.</Empty>
  return <Empty title="This record cannot be read now">{error.message} <button className={css.button} onClick={retry}>Read again</button></Empty>
}

function Content({ kind, entry, told, isTold, onPick }: { kind: Kind; entry: Entry; told: ReturnType<typeof useTold>; isTold: boolean; onPick: Pick }) {
  const parts = partsOf(entry)
  return (
    <>
      <Dialog.Title>{headline(entry)}</Dialog.Title>
      <p><time dateTime={entry.report_timestamp}>{clockMs(entry.report_timestamp)}</time></p>
      {parts.length > 0 && (
        <>
          <TimingBar entry={entry} isBig />
          <p className={css.parts}>
            {parts.map((part) => <span key={part.key}><i data-part={part.key} />{`${part.name} ${ms(part.ms)}`}</span>)}
          </p>
        </>
      )}
      {isTold && <Way entry={entry} told={told} />}
      <dl className={css.fields}>
        {Object.keys(entry).toSorted().map((name) => {
          const value = text(entry, name)
          const field = kind.fields.find((one) => one.field === name)
          if (value === '') return null
          return (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <span>{value}</span>
                {field && !Array.isArray(entry[name]) && <Both field={field} value={value} onPick={onPick} />}
              </dd>
            </div>
          )
        })}
      </dl>
    </>
  )
}

function Both({ field, value, onPick }: { field: Field; value: string; onPick: Pick }) {
  return (
    <span>
      <button onClick={() => onPick(field.name, value, false)} aria-label={`Only ${field.name} ${value}`} title="Only these">+</button>
      <button onClick={() => onPick(field.name, value, true)} aria-label={`Without ${field.name} ${value}`} title="Without these">−</button>
    </span>
  )
}
