import { differences, type JsonObject } from '../api/value'
import css from './change.module.css'
import { Diff } from './Diff'

interface Props {
  base: JsonObject
  mine: JsonObject
  theirs: JsonObject
  onTheirs: () => void
  onMine: () => void
}

/** Somebody else has written the object since it was read: both versions, and what can be done. */
export function Conflict({ base, mine, theirs, onTheirs, onMine }: Props) {
  return (
    <section className={css.conflict} aria-labelledby="conflict">
      <div role="alert"><h2 id="conflict">Somebody has changed it since you read it. Nothing was saved.</h2></div>
      <h3>What they changed</h3>
      <Diff of={differences(base, theirs)} before="You read" after="It is now" />
      <h3>What you changed</h3>
      <Diff of={differences(base, mine)} before="You read" after="You want" />
      <p className={css.actions}>
        <button type="button" onClick={onTheirs}>Take theirs, drop mine</button>
        <button type="button" className={css.primary} onClick={onMine}>Put my changes over theirs</button>
        <span className={css.dim}>The second shows the result in the form first. A field that both changed gets your value.</span>
      </p>
    </section>
  )
}
