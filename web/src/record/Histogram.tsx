import { type PointerEvent, useRef, useState } from 'react'
import { clock, count } from '../time/format'
import { drawn, type Range } from '../time/range'
import type { Bucket, Counted } from './ask'
import type { Kind } from '../api/fields'
import css from './record.module.css'

interface Bar {
  startMs: number
  total: number
  parts: { name: string; count: number }[]
}

/** How many records there are over time. Dragging zooms in. */
export function Histogram({ counted, kind, onRange }: { counted: Counted; kind: Kind; onRange: (range: Range) => void }) {
  const bars = barsOf(counted, kind)
  const most = Math.max(1, ...bars.map((bar) => bar.total))
  const area = useRef<HTMLDivElement>(null)
  const [from, setFrom] = useState<number>()
  const [to, setTo] = useState(0)
  const first = bars[0]?.startMs ?? counted.fromMs
  const last = (bars.at(-1)?.startMs ?? counted.toMs) + counted.stepMs
  const shareAt = (event: PointerEvent) => {
    const box = area.current?.getBoundingClientRect()
    return box ? Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) : 0
  }
  const timeAt = (share: number) => first + share * (last - first)
  const finish = (event: PointerEvent) => {
    if (from === undefined) return
    const end = shareAt(event)
    setFrom(undefined)
    if (Math.abs(end - from) > 0.005) onRange(drawn(timeAt(from), timeAt(end)))
  }
  const names = [...new Set(bars.flatMap((bar) => bar.parts.map((part) => part.name)))].filter(Boolean).toSorted()
  return (
    <div className={css.histogram}>
      <div
        ref={area}
        className={css.bars}
        role="img"
        aria-label={`${count(bars.reduce((sum, bar) => sum + bar.total, 0))} ${kind.name} over time, at most ${count(most)} in one step`}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          setFrom(shareAt(event))
          setTo(shareAt(event))
          event.preventDefault()
        }}
        onPointerMove={(event) => from !== undefined && setTo(shareAt(event))}
        onPointerUp={finish}
        onPointerCancel={() => setFrom(undefined)}
      >
        {bars.map((bar) => (
          <span key={bar.startMs} className={css.bar} title={`${clock(bar.startMs)}: ${count(bar.total)}${bar.parts.map((part) => (part.name ? `\n${part.name}: ${count(part.count)}` : '')).join('')}`}>
            {bar.parts.map((part) => <i key={part.name} data-class={part.name} style={{ height: `${(part.count / most) * 100}%` }} />)}
          </span>
        ))}
        {from !== undefined && <div className={css.drawn} style={{ left: `${Math.min(from, to) * 100}%`, width: `${Math.abs(to - from) * 100}%` }} />}
      </div>
      <div className={css.axis}>
        <span>{clock(first)}</span>
        <span className={css.keys}>{names.map((name) => <span key={name} data-class={name}>{name}</span>)}{`at most ${count(most)} in ${stepText(counted.stepMs)}`}</span>
        <span>{clock(last)}</span>
      </div>
    </div>
  )
}

const order = ['5xx', '4xx', '3xx', '2xx', '1xx']

/** A bar for each step, also for those without records. */
export function barsOf(counted: Counted, kind: Kind): Bar[] {
  const { fromMs, toMs, stepMs } = counted
  const found = new Map<number, Bucket[]>()
  for (const bucket of counted.buckets) {
    const start = Date.parse(bucket.start)
    found.set(start, [...(found.get(start) ?? []), bucket])
  }
  const bars: Bar[] = []
  for (let at = Math.floor(fromMs / stepMs) * stepMs; at < toMs; at += stepMs) {
    const parts = (found.get(at) ?? []).map((bucket) => ({
      name: kind.stack ? String(bucket[kind.stack] || 'none') : '',
      count: Number(kind.isWeighted ? (bucket['sum(weight)'] ?? bucket.value) : bucket.value),
    }))
    parts.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    bars.push({ startMs: at, total: parts.reduce((sum, part) => sum + part.count, 0), parts })
  }
  return bars
}

function stepText(stepMs: number): string {
  const seconds = stepMs / 1000
  return seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`
}
