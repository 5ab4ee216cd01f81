import { Popover } from '@base-ui/react/popover'
import type { Grade } from '../api/grade'
import { Link } from '../url/Link'
import css from './score.module.css'
import { Shape } from './State'
import type { Look } from './state'

const looks: Record<string, Look> = { 'A+': 'good', A: 'good', B: 'attention', C: 'attention', D: 'bad', F: 'bad', unknown: 'off' }

/** The grade of the TLS of a service. It opens its reasons, each with the object to change. */
export function GradeMark({ of, name }: { of: Grade | undefined; name: string }) {
  if (!of) return null
  return (
    <Popover.Root>
      <Popover.Trigger className={css.score} data-look={looks[of.letter]} aria-label={`TLS ${of.letter} is the grade of ${name}. Why?`} title={of.reasons.map((reason) => reason.text).join('; ') || 'Nothing to improve'}>
        <Shape look={looks[of.letter] ?? 'off'} />
        {`TLS ${of.letter}`}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="start" className={css.positioner}>
          <Popover.Popup className={css.popup} aria-label={`TLS of ${name}`}>
            {of.reasons.length === 0 && <p>Nothing to improve.</p>}
            <ul className={css.reasons}>
              {of.reasons.map((reason) => (
                <li key={reason.text}>
                  <b>{reason.letter === 'unknown' ? '?' : reason.letter}</b>
                  <span>{reason.text}</span>
                  <small><Link to={`/objects/${reason.kind}/${reason.uuid}`}>{reason.letter === 'unknown' ? 'open it' : 'change it'}</Link></small>
                </li>
              ))}
            </ul>
            <p className={css.note}>The worst reason decides. The grade is of what clients are offered.</p>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** The grade in a row of a table. */
export function GradeText({ of }: { of: Grade | undefined }) {
  if (!of) return '–'
  return <span className={css.text} data-look={looks[of.letter]}><Shape look={looks[of.letter] ?? 'off'} />{of.letter}</span>
}
