import { Dialog } from '@base-ui/react/dialog'
import { useRef } from 'react'
import { Empty } from '../part/Shown'
import { clockMs, ms } from '../time/format'
import { type Entry, useEntries } from './ask'
import { idOf, TimingBar } from './columns'
import type { Field, Kind } from '../api/fields'
import css from './record.module.css'
import { headline, partsOf, stagesOf, text } from './sentence'

type Pick = (name: string, value: string, isNegative: boolean) => void

/** One record: a sentence for each stage, where its time went, and all of its fields. */
export function Drawer({ kind, service, id, entry, onPick, onClose }: { kind: Kind; service: string; id: string; entry: Entry | undefined; onPick: Pick; onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null)
  return (
    <Dialog.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Popup className={css.drawer} initialFocus={close}>
          {entry ? <Content kind={kind} entry={entry} onPick={onPick} /> : <Elsewhere kind={kind} service={service} id={id} onPick={onPick} />}
          <Dialog.Close ref={close} className={css.close} aria-label="Close the record">×</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

const weekS = 7 * 86_400

/** A record that is not in the list: someone shared its URL, or newer ones have come. */
function Elsewhere({ kind, service, id, onPick }: { kind: Kind; service: string; id: string; onPick: Pick }) {
  const found = useEntries({ kind, service, text: kind.isWeighted ? `id:"${id.replaceAll('"', '')}"` : '', range: { kind: 'recent', seconds: weekS }, everyMs: Infinity }, 100)
  const entry = found.value?.results.find((one) => idOf(one) === id)
  if (entry) return <Content kind={kind} entry={entry} onPick={onPick} />
  return (
    <>
      <Dialog.Title>Record</Dialog.Title>
      {found.value || found.error ? <Empty title="This record is not there any more">{found.error?.message}</Empty> : <p>Loading…</p>}
    </>
  )
}

function Content({ kind, entry, onPick }: { kind: Kind; entry: Entry; onPick: Pick }) {
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
      <ul className={css.stages}>
        {stagesOf(entry).map((stage) => (
          <li key={stage.name}>
            <b>{stage.name}</b>
            <span>{stage.text}</span>
          </li>
        ))}
      </ul>
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
