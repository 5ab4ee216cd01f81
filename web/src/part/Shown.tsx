import type { ReactNode } from 'react'
import type { Data } from '../api/useData'
import { clock } from '../time/format'
import css from './part.module.css'

/** Shows data in the states that data have: loading, not allowed, unreadable, stale, there. */
export function Shown<T>({ of, what, children }: { of: Data<T>; what: string; children: (value: T) => ReactNode }) {
  const { value, error } = of
  if (value === undefined) return error ? <Failed of={of} what={what} /> : <Loading />
  return (
    <>
      {error && (
        <p className={css.stale} role="status">
          {`As of ${clock(of.at)}. Since then ${what} could not be read: ${error.message} `}
          <button className={css.link} onClick={of.retry}>Read again</button>
        </p>
      )}
      <div className={css.shown} data-stale={error !== undefined}>{children(value)}</div>
    </>
  )
}

export function Loading() {
  return <p className={css.loading} role="status">Loading…</p>
}

function Failed<T>({ of, what }: { of: Data<T>; what: string }) {
  const status = of.error?.status
  const message = of.error?.message ?? ''
  if (status === 403) return <Empty title={`You may not see ${what}`}>{message} Ask an administrator of the controller.</Empty>
  if (status === 404) {
    return <Empty title={`There is no such object, or not in this tenant`}>{message} It may have been deleted; “what changed” on the overview says so.</Empty>
  }
  return (
    <Empty title={`The controller did not answer what it knows of ${what}`}>
      {message} <button className={css.link} onClick={of.retry}>Read again</button>
    </Empty>
  )
}

/** Says why there is nothing, and what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <h2>{title}</h2>
      <div>{children}</div>
    </div>
  )
}
