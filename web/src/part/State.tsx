import css from './part.module.css'
import { lookOf, type Look } from './state'

/** A state as word and shape; the colour repeats what the two say. */
export function State({ state, reasons = [] }: { state: string; reasons?: string[] | undefined }) {
  const { look, word } = lookOf(state, reasons)
  return (
    <span className={css.state} data-look={look}>
      <Shape look={look} />
      {word}
    </span>
  )
}

export function Shape({ look }: { look: Look }) {
  return (
    <svg className={css.shape} data-look={look} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[look]}
    </svg>
  )
}

const line = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.6 }

const shapes: Record<Look, React.ReactNode> = {
  good: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  attention: (
    <>
      <circle cx="6" cy="6" r="4.4" {...line} />
      <path d="M6 1.6a4.4 4.4 0 0 1 0 8.8z" fill="currentColor" />
    </>
  ),
  bad: <path d="M2 2l8 8M10 2l-8 8" {...line} strokeWidth={2.4} strokeLinecap="round" />,
  waiting: <circle cx="6" cy="6" r="4.4" {...line} strokeDasharray="2.2 1.6" />,
  off: <circle cx="6" cy="6" r="4.4" {...line} />,
}
