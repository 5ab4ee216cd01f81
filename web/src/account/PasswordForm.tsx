import { type FormEvent, useState } from 'react'
import { send } from '../api/changes'
import { readSession, useSession } from '../api/session'
import change from '../form/change.module.css'
import form from '../form/form.module.css'
import { refusalOf } from '../form/useEdit'
import { passwordProblem } from './password'
import { Text } from './Text'

interface Props {
  /** What the button says. */
  does: string
  /** What the old password is called. */
  old: string
  oldNote?: string
  onDone: () => void
}

/** Changes the password of the user, and the name that others see. */
export function PasswordForm({ does, old, oldNote, onDone }: Props) {
  const { user } = useSession()
  const [value, setValue] = useState({ old: '', next: '', again: '', name: user?.full_name ?? '' })
  const [isTried, setTried] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<ReturnType<typeof refusalOf>>()
  const problem = passwordProblem(value.old, value.next, value.again)
  const set = (part: Partial<typeof value>) => {
    setValue({ ...value, ...part })
    setRefusal(undefined)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (problem) return
    setBusy(true)
    try {
      await send({ method: 'PUT', path: '/api/useraccount', tenant: '', body: { old_password: value.old, password: value.next, full_name: value.name } })
      await readSession()
      onDone()
    } catch (error) {
      setRefusal(refusalOf(error))
    }
    setBusy(false)
  }
  const wrong = (field: string) => (refusal?.problem?.field === field ? refusal.problem.problem : isTried && problem?.field === field ? problem.text : undefined)
  return (
    <form className={form.form} onSubmit={(event) => void submit(event)} noValidate>
      <input type="text" autoComplete="username" value={user?.username ?? ''} readOnly hidden />
      <Text label={old} type="password" autoComplete="current-password" note={oldNote} problem={wrong('old_password')} value={value.old} onChange={(event) => set({ old: event.target.value })} />
      <Text label="New password" type="password" autoComplete="new-password" note="at least 12 characters" problem={wrong('password')} value={value.next} onChange={(event) => set({ next: event.target.value })} />
      <Text label="New password again" type="password" autoComplete="new-password" problem={wrong('again')} value={value.again} onChange={(event) => set({ again: event.target.value })} />
      <Text label="Your name" autoComplete="name" note="as the list of users shows it" value={value.name} onChange={(event) => set({ name: event.target.value })} />
      {refusal && !refusal.problem && <p role="alert" className={change.wrong}>{refusal.message}</p>}
      <p className={change.actions}>
        <button type="submit" className={change.primary} disabled={isBusy}>{does}</button>
      </p>
    </form>
  )
}
