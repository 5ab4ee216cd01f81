import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { logIn, useSession } from '../api/session'
import css from './account.module.css'

/** Asks who is there. It has no URL of its own: after it, the page of the URL is there. */
export function Login() {
  const { reason, version } = useSession()
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const password = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = 'Log in · Weir'
  }, [])
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setProblem('')
    try {
      await logIn(String(form.get('username')), String(form.get('password')))
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : 'The login failed.')
      setBusy(false)
      password.current?.select()
    }
  }
  return (
    <main className={css.login}>
      <form onSubmit={submit}>
        <h1>Weir</h1>
        {reason && <p>{reason}</p>}
        <label>
          User
          <input name="username" autoComplete="username" defaultValue="admin" required maxLength={256} autoCapitalize="none" spellCheck={false} />
        </label>
        <label>
          Password
          <input ref={password} name="password" type="password" autoComplete="current-password" required autoFocus />
        </label>
        <p role="alert" className={css.problem}>{problem}</p>
        <button type="submit" disabled={isBusy}>Log in</button>
        <p className={css.hint}>
          Since the first start of a controller, the password of <b>admin</b> is in the file <code>admin-password</code> in its data directory.
          The controller prints the path when it starts.
        </p>
        <p className={css.hint}>{version}</p>
      </form>
    </main>
  )
}
