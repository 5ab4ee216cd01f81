import { Popover } from '@base-ui/react/popover'
import type { HealthScore } from '../api/types'
import { useData } from '../api/useData'
import { Link } from '../url/Link'
import css from './score.module.css'
import { Shown } from './Shown'
import { Shape } from './State'
import type { Look } from './state'

const looks: Record<string, Look> = { good: 'good', fair: 'attention', poor: 'bad', down: 'bad' }

export type Scored = 'virtualservice' | 'pool' | 'serviceengine'

/** A health score as number, word and shape. It opens its reasons and its formula. */
export function Score({ of, kind, uuid, name }: { of: HealthScore | undefined; kind: Scored; uuid: string; name: string }) {
  if (of?.health_score === undefined || of.health_score === null) return null
  return (
    <Popover.Root>
      <Popover.Trigger className={css.score} data-look={looks[of.weir_band] ?? 'off'} aria-label={`Health of ${name}: ${of.health_score} ${of.weir_band}. Why?`} title={of.reason || 'Nothing costs points. Press for the formula.'}>
        <Number of={of} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="start" className={css.positioner}>
          <Popover.Popup className={css.popup} aria-label={`Health of ${name}`}>
            <Why kind={kind} uuid={uuid} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** A score without its reasons, for a row of a table. */
export function ScoreText({ of }: { of: HealthScore | undefined }) {
  if (of?.health_score === undefined || of.health_score === null) return '–'
  return <span className={css.text} data-look={looks[of.weir_band] ?? 'off'} title={of.reason || 'nothing costs points'}><Number of={of} /></span>
}

function Number({ of }: { of: HealthScore }) {
  return (
    <>
      <Shape look={looks[of.weir_band] ?? 'off'} />
      {`${of.health_score} ${of.weir_band}`}
    </>
  )
}

interface Nested {
  entity_type: string
  entity_uuid?: string
  name: string
  value: number | null
  weir_band?: string
  reason?: string
  nested?: Nested[]
}

interface Present {
  value: number | null
  weir_band?: string
  weir_formula?: string
  weir_reasons?: { part: string; points: number; reason: string }[]
  nested?: Nested[]
}

interface Answer {
  series: { data: Present[] }[]
}

function Why({ kind, uuid }: { kind: Scored; uuid: string }) {
  const answer = useData<Answer>(`/api/analytics/healthscore/${kind}/${uuid}?limit=1`, 15_000)
  return (
    <Shown of={answer} what="the health score">
      {(value) => {
        const present = value.series[0]?.data.at(-1)
        if (!present) return <p>There is no score yet.</p>
        return (
          <>
            <p className={css.formula}>{present.weir_formula}</p>
            {(present.weir_reasons ?? []).length === 0 && <p>Nothing costs points.</p>}
            <ul className={css.reasons}>
              {(present.weir_reasons ?? []).map((one, at) => (
                <li key={at}>
                  <b>{`−${one.points.toFixed(1)}`}</b>
                  <span>{one.reason}</span>
                  <small>{one.part}</small>
                </li>
              ))}
            </ul>
            <Parts of={present.nested ?? []} depth={0} />
            <p className={css.note}>Of the last five minutes, each 15 s. Good is 85 and more, fair 65, poor below.</p>
          </>
        )
      }}
    </Shown>
  )
}

const deepest = 3
const pages: Record<string, string> = { pool: '/pools/', virtualservice: '/services/', se: '/engines/', serviceengine: '/engines/' }

function Parts({ of, depth }: { of: Nested[]; depth: number }) {
  if (of.length === 0 || depth >= deepest) return null
  return (
    <ul className={css.parts}>
      {of.slice(0, 30).map((part, at) => {
        const page = pages[part.entity_type]
        const name = `${['se', 'serviceengine'].includes(part.entity_type) ? 'engine' : part.entity_type} ${part.name}`
        return (
          <li key={at}>
            <span>{page && part.entity_uuid ? <Link to={page + part.entity_uuid}>{name}</Link> : name}</span>
            <span data-look={looks[part.weir_band ?? ''] ?? undefined}>{part.value === null ? '–' : `${part.value}${part.weir_band ? ` ${part.weir_band}` : ''}`}</span>
            {part.reason && <small>{part.reason}</small>}
            <Parts of={part.nested ?? []} depth={depth + 1} />
          </li>
        )
      })}
    </ul>
  )
}
