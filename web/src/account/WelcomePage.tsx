import { type ReactNode, useState } from 'react'
import { changeObject } from '../api/changes'
import { useEngines } from '../api/objects'
import { readSession, useSession } from '../api/session'
import { isObject } from '../api/value'
import { useMay } from '../form/Act'
import change from '../form/change.module.css'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Empty } from '../part/Shown'
import { go } from '../url/location'
import css from './account.module.css'
import { JoinEngine } from './JoinEngine'
import { PasswordForm } from './PasswordForm'

const everyMs = 1000
const shortest = 12

/** The first set-up: a password of one's own, the first engine, the first service. It needs the login that the controller wrote to its disk. */
export default function WelcomePage() {
  const { isSetUp } = useSession()
  const may = useMay('systemconfiguration')
  const engines = useEngines(everyMs).value?.results ?? []
  const [hasPassword, setPassword] = useState(false)
  const [problem, setProblem] = useState('')
  const up = engines.filter((engine) => engine.runtime?.oper_status.state === 'OPER_UP')
  if (may?.may_change === false) {
    return (
      <Page title="Welcome">
        <Empty title="An administrator sets up the controller">{may.why_not}</Empty>
      </Page>
    )
  }
  const finish = async (to: string) => {
    try {
      if (!isSetUp) {
        await changeObject('systemconfiguration', 'default', '', 'set-up finished', (object) => {
          const portal = isObject(object['portal_configuration']) ? object['portal_configuration'] : {}
          const least = Math.max(shortest, Number(portal['minimum_password_length'] ?? 0))
          return { ...object, welcome_workflow_complete: true, portal_configuration: { ...portal, minimum_password_length: least } }
        })
        await readSession()
      }
      go(to)
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <Page title="Welcome to Weir">
      <p className={css.lead}>Three steps to the first request: a password of your own, an engine, a service.</p>
      <ol className={css.steps}>
        <Step number={1} title="Your password" isDone={hasPassword || isSetUp} done="The password is yours. The one in the file counts no more.">
          <PasswordForm does="Set the password" old="First password" oldNote="from the file admin-password in the data directory of the controller, with which you have logged in" onDone={() => setPassword(true)} />
        </Step>
        <Step number={2} title="The first engine" isDone={up.length > 0} done={`${up.map((engine) => engine.name).join(', ')} ${up.length === 1 ? 'is' : 'are'} up.`}>
          <JoinEngine />
        </Step>
        <Step number={3} title="The first service" isDone={false} done="">
          <p className={change.actions}>
            <button type="button" className={change.primary} onClick={() => void finish('/new')}>Create a service</button>
            <button type="button" onClick={() => void finish('/')}>Later: show the overview</button>
          </p>
          <p className={css.hint}>{`This ends the set-up. From then on, new passwords need at least ${shortest} characters (minimum_password_length of the system configuration).`}</p>
          {problem && <p role="alert" className={change.wrong}>{problem}</p>}
        </Step>
      </ol>
    </Page>
  )
}

function Step({ number, title, isDone, done, children }: { number: number; title: string; isDone: boolean; done: string; children: ReactNode }) {
  return (
    <li data-done={isDone}>
      <Panel title={`${number}. ${title}`} note={isDone && <span role="status" data-look="good">{`✓ ${done}`}</span>}>
        {!isDone && <div className={css.inner}>{children}</div>}
      </Panel>
    </li>
  )
}
