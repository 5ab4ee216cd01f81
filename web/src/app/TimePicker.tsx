import { Popover } from '@base-ui/react/popover'
import { type FormEvent, useState } from 'react'
import { clock } from '../time/format'
import { localText, localTime } from '../time/local'
import { boundsOf, type Range, shortest, wider } from '../time/range'
import { setRange, useRange } from '../url/useRange'
import { zoneName } from '../time/zone'
import { setParam, useParam } from '../url/location'
import css from './time.module.css'

const quick: [string, number][] = [['15 minutes', 900], ['1 hour', 3600], ['6 hours', 21_600], ['24 hours', 86_400], ['7 days', 604_800], ['30 days', 2_592_000], ['90 days', 7_776_000]]

/** The range of time of the page, and the zone in which times are written. */
export function TimePicker() {
  const range = useRange()
  const [open, setOpen] = useState(false)
  const choose = (next: Range) => {
    setRange(next)
    setOpen(false)
  }
  return (
    <div className={css.picker}>
      {range.kind !== 'live' && (
        <button className={css.button} onClick={() => setRange(wider(range, Date.now()))} title="Twice the time" aria-label="Zoom out: show twice the time">−</button>
      )}
      <Popover.Root open={open} onOpenChange={setOpen}>
        <Popover.Trigger className={css.button} aria-label={`Time: ${nameOf(range)}`}>{nameOf(range)}</Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner sideOffset={6} align="end" className={css.positioner}>
            <Popover.Popup className={css.popup} aria-label="Time">
              <div className={css.quick} role="group" aria-label="Ranges that end now">
                <button aria-pressed={range.kind === 'live'} onClick={() => choose({ kind: 'live' })}>Live</button>
                {quick.map(([name, seconds]) => (
                  <button key={seconds} aria-pressed={range.kind === 'recent' && range.seconds === seconds} onClick={() => choose({ kind: 'recent', seconds })}>{`Last ${name}`}</button>
                ))}
              </div>
              <Fixed key={JSON.stringify(range)} range={range} onChoose={choose} />
              <Zone />
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
    </div>
  )
}

function nameOf(range: Range): string {
  if (range.kind === 'live') return 'Live'
  if (range.kind === 'recent') return `Last ${shortest(range.seconds)}`
  return `${clock(range.fromMs)} – ${clock(range.toMs)}`
}

/** A range with a begin and an end, in the zone of the page. */
function Fixed({ range, onChoose }: { range: Range; onChoose: (range: Range) => void }) {
  const bounds = boundsOf(range, Date.now())
  const [problem, setProblem] = useState('')
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const fromMs = localTime(String(form.get('from')))
    const toMs = localTime(String(form.get('to')))
    if (fromMs < toMs) onChoose({ kind: 'fixed', fromMs, toMs })
    else setProblem('The end is not after the begin.')
  }
  return (
    <form onSubmit={submit} className={css.fixed}>
      <label>From<input type="datetime-local" name="from" step="1" required defaultValue={localText(bounds.fromMs)} /></label>
      <label>To<input type="datetime-local" name="to" step="1" required defaultValue={localText(bounds.toMs)} /></label>
      {problem && <p role="alert">{problem}</p>}
      <button type="submit">Show this range</button>
    </form>
  )
}

function Zone() {
  const utc = useParam('zone') === 'utc'
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <div className={css.quick} role="group" aria-label="Zone in which times are written">
      <button aria-pressed={!utc} onClick={() => setParam('zone', '')}>{local === 'UTC' ? 'UTC, as the browser' : local}</button>
      <button aria-pressed={utc} onClick={() => setParam('zone', 'utc')} title="The key u">UTC</button>
      <small>{`Times are in ${zoneName(Date.now())}. The key u changes it.`}</small>
    </div>
  )
}
