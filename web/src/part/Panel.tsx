import { type ReactNode, useId } from 'react'
import css from './part.module.css'

/** A part of a page with a heading. */
export function Panel({ title, note, children }: { title: string; note?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <section className={css.panel} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note && <span className={css.note}>{note}</span>}
      </header>
      {children}
    </section>
  )
}

/** A number with its name. It keeps its place, whatever the number. */
export function Tile({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div className={css.tile} title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

export function Tiles({ children }: { children: ReactNode }) {
  return <dl className={css.tiles}>{children}</dl>
}

/** A list of reasons, one a line. */
export function Reasons({ of }: { of: string[] | undefined }) {
  if (!of?.length) return null
  return (
    <ul className={css.reasons}>
      {of.map((reason, at) => (
        <li key={at}>{reason}</li>
      ))}
    </ul>
  )
}
