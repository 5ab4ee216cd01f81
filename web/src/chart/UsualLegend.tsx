import type { Step } from '../api/usual'
import { usualParam } from '../api/useUsual'
import { setParam, useParam } from '../url/location'
import type { Band } from './band'
import css from './chart.module.css'
import type { Measure } from './measure'

/** Says what the bands of a chart are, and switches those of all charts on and off. */
export function UsualLegend({ measure, bands, isRead }: { measure: Measure; bands: Band[]; isRead: boolean }) {
  const isShown = useParam(usualParam) !== 'off'
  const title = 'Between these values a metric is usual: the controller has learned it from the last hour, or from the time of day. It is known for the last six hours, of what has traffic.'
  return (
    <p className={css.usual}>
      <button aria-pressed={isShown} title={title} onClick={() => setParam(usualParam, isShown ? 'off' : '')}>What is usual</button>
      {bands.map(({ line, steps }) => (
        <span key={line.key}>
          <i data-colour={line.colour} />
          {`${line.usual?.name ?? line.name}: ${between(measure, steps.at(-1))}`}
        </span>
      ))}
      {isShown && isRead && bands.length === 0 && <span>Not known for this time</span>}
    </p>
  )
}

function between(measure: Measure, step: Step | undefined): string {
  const [low, high] = [measure.write(step?.low ?? null), measure.write(step?.high ?? null)]
  return low === high ? high : `${low} to ${high}`
}
