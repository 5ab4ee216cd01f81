import { type ReactNode, useEffect, useRef } from 'react'
import css from './page.module.css'

/** A page: its title is that of the window, and gets the focus when one comes from another page. */
export function Page({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Weir`
  }, [title])
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('nav')) heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <main className={css.page} id="main">
      <div className={css.title}>
        <h1 ref={heading} tabIndex={-1}>{title}</h1>
        {lead}
      </div>
      {children}
    </main>
  )
}
