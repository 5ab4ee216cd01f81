import type { Mark } from '../api/marks'
import { clock } from '../time/format'
import { Link } from '../url/Link'
import css from './chart.module.css'

const shownMost = 5

/** The newest events of the range, which the charts mark. */
export function Happened({ marks }: { marks: Mark[] }) {
  if (marks.length === 0) return null
  return (
    <p className={css.happened}>
      {marks.slice(0, shownMost).map((mark, at) => <span key={at}>{`▼ ${clock(mark.atMs)} ${mark.text}`}</span>)}
      {marks.length > shownMost && <Link to="/events">{`${marks.length - shownMost} more`}</Link>}
    </p>
  )
}
