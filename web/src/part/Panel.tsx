import { type ReactNode, useId } from 'react'
import css from './part.module.css'

/** A part of a page with a heading. */
export function Panel({ title, note, menu, children }: { title: string; note?: ReactNode; menu?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <section className={css.panel} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note && <span className={css.note}>{note}</span>}
        {menu && <span className={css.corner}>{menu}</span>}
      </header>
      {children}
    </section>
  )
}

/** A number with its name. It keeps its place, whatever the number. With onOpen, it opens what is behind it. */
export function Tile({ name, value, title, isOpen, onOpen }: { name: string; value: string; title?: string | undefined; isOpen?: boolean; onOpen?: () => void }) {
  return (
    <div className={css.tile} title={title} data-open={isOpen}>
      <dt>{onOpen ? <button aria-pressed={isOpen ?? false} onClick={onOpen}>{name}</button> : name}</dt>
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
