import { Panel } from '../part/Panel'
import css from './account.module.css'
import { JoinEngine } from './JoinEngine'
import { Settings } from './Settings'

/** Lets an engine join. */
export default function JoinPage() {
  return (
    <Settings title="Join an engine">
      <Panel title="A command for one engine">
        <div className={css.inner}>
          <JoinEngine />
        </div>
      </Panel>
    </Settings>
  )
}
