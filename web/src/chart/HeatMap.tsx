import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react'
import { type Box, type Heat, latencies } from '../api/heat'
import { clock, count, ms } from '../time/format'
import css from './chart.module.css'
import { resolved } from './plot'

interface Corner {
  x: number
  y: number
}

/** Latency over time: the stronger the colour, the more requests. A box that the reader draws goes to onBox, and comes back as box. */
export function HeatMap({ heat, fromMs, toMs, label, box, onBox }: { heat: Heat; fromMs: number; toMs: number; label: string; box: Box | undefined; onBox: (box: Box | undefined) => void }) {
  const area = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const scale = useMemo(() => new Scale(heat, fromMs, toMs), [heat, fromMs, toMs])
  const [begun, setBegun] = useState<Corner>()
  const [ends, setEnds] = useState<Corner>()
  const [pointed, setPointed] = useState('')
  useEffect(() => paint(canvas.current, heat, scale), [heat, scale])
  // What was drawn stays until it comes back.
  useEffect(() => setBegun(undefined), [box])
  const at = (event: PointerEvent): Corner => {
    const bounds = event.currentTarget.getBoundingClientRect()
    return { x: clamp((event.clientX - bounds.left) / bounds.width), y: clamp((event.clientY - bounds.top) / bounds.height) }
  }
  const finish = (end: Corner) => {
    if (!begun || Math.abs(end.x - begun.x) < 0.004 || Math.abs(end.y - begun.y) < 0.01) {
      setBegun(undefined)
      onBox(undefined)
      return
    }
    onBox({ fromMs: scale.timeAt(Math.min(begun.x, end.x)), toMs: scale.timeAt(Math.max(begun.x, end.x)), lowMs: scale.latencyAt(Math.max(begun.y, end.y)), highMs: scale.latencyAt(Math.min(begun.y, end.y)) })
  }
  const isDrawing = useRef(false)
  return (
    <>
      <div
        ref={area}
        className={css.heat}
        role="img"
        aria-label={label}
        title="Drag a box to see what is in it"
        onPointerDown={(event) => {
          if (event.button !== 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          isDrawing.current = true
          setBegun(at(event))
          setEnds(at(event))
          event.preventDefault()
        }}
        onPointerMove={(event) => {
          const corner = at(event)
          setPointed(says(heat, scale, corner))
          if (isDrawing.current) setEnds(corner)
        }}
        onPointerUp={(event) => {
          if (!isDrawing.current) return
          isDrawing.current = false
          finish(at(event))
        }}
        onPointerCancel={() => {
          isDrawing.current = false
          setBegun(undefined)
        }}
      >
        <canvas ref={canvas} />
        {scale.marks().map((mark) => <span key={mark.ms} data-mark style={{ top: `${mark.y * 100}%` }}>{ms(mark.ms)}</span>)}
        {begun && ends ? <Frame one={begun} other={ends} /> : box && <Frame one={scale.cornerOf(box.fromMs, box.highMs)} other={scale.cornerOf(box.toMs, box.lowMs)} />}
      </div>
      <div className={css.under}>
        <span>{clock(fromMs)}</span>
        <span>{clock(toMs)}</span>
      </div>
      <p className={css.pointed}>{pointed || `The stronger the colour, the more requests; at most ${count(scale.most)} in one cell of ${heat.stepS} s. Drag a box to see what is in it.`}</p>
    </>
  )
}

/** The part of the area between two corners. */
function Frame({ one, other }: { one: Corner; other: Corner }) {
  const [width, height] = [Math.abs(one.x - other.x), Math.abs(one.y - other.y)]
  if (width === 0 || height === 0) return null
  return <div className={css.drawn} data-box style={{ left: `${Math.min(one.x, other.x) * 100}%`, top: `${Math.min(one.y, other.y) * 100}%`, width: `${width * 100}%`, height: `${height * 100}%` }} />
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}

/** Maps times and latencies to shares of the area, from its upper left corner. Latencies are on a log scale. */
class Scale {
  readonly most: number
  private readonly low: number
  private readonly high: number
  constructor(heat: Heat, private readonly fromMs: number, private readonly toMs: number) {
    const { lowMs, highMs } = latencies(heat)
    this.low = Math.log(lowMs)
    this.high = Math.log(highMs)
    this.most = Math.max(0, ...heat.cells.map((cell) => cell.count))
  }
  x(atMs: number): number {
    return (atMs - this.fromMs) / (this.toMs - this.fromMs)
  }
  y(latencyMs: number): number {
    return 1 - (Math.log(Math.max(latencyMs, 0.0001)) - this.low) / (this.high - this.low)
  }
  /** The place of a time and a latency; what is outside of the area is at its edge. */
  cornerOf(atMs: number, latencyMs: number): Corner {
    return { x: clamp(this.x(atMs)), y: clamp(this.y(latencyMs)) }
  }
  timeAt(x: number): number {
    return this.fromMs + x * (this.toMs - this.fromMs)
  }
  latencyAt(y: number): number {
    return Math.exp(this.low + (1 - y) * (this.high - this.low))
  }
  /** Powers of ten, for the axis. */
  marks(): { ms: number; y: number }[] {
    const marks = []
    for (let power = Math.ceil(this.low / Math.LN10 - 0.001); power <= this.high / Math.LN10 + 0.001; power++) {
      marks.push({ ms: 10 ** power, y: clamp(this.y(10 ** power)) })
    }
    return marks
  }
}

function says(heat: Heat, scale: Scale, { x, y }: Corner): string {
  const atMs = scale.timeAt(x)
  const latency = scale.latencyAt(y)
  const step = heat.times.findIndex((end) => atMs <= end * 1000 && atMs > (end - heat.stepS) * 1000)
  const cell = heat.cells.find((one) => one.at === step && one.lowMs <= latency && latency < one.highMs)
  const when = clock(atMs)
  return cell ? `${when}: ${count(cell.count)} requests took ${ms(cell.lowMs)} to ${ms(cell.highMs)}` : `${when}: none took ${ms(latency)}`
}

function paint(canvas: HTMLCanvasElement | null, heat: Heat, scale: Scale) {
  if (!canvas) return
  const draw = () => {
    const ratio = window.devicePixelRatio || 1
    const { width, height } = canvas.getBoundingClientRect()
    canvas.width = width * ratio
    canvas.height = height * ratio
    const pen = canvas.getContext('2d')
    if (!pen) return
    pen.fillStyle = resolved(canvas, 'accent')
    for (const cell of heat.cells) {
      const endMs = (heat.times[cell.at] ?? 0) * 1000
      const left = Math.floor(scale.x(endMs - heat.stepS * 1000) * canvas.width)
      const right = Math.ceil(scale.x(endMs) * canvas.width)
      const top = Math.floor(scale.y(cell.highMs) * canvas.height)
      const bottom = Math.ceil(scale.y(cell.lowMs) * canvas.height)
      pen.globalAlpha = 0.1 + (0.9 * Math.log1p(cell.count)) / Math.log1p(scale.most)
      pen.fillRect(left, top, Math.max(1, right - left - 1), Math.max(1, bottom - top - 1))
    }
  }
  draw()
  const resized = new ResizeObserver(draw)
  resized.observe(canvas)
  const themed = new MutationObserver(draw)
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const system = window.matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', draw)
  return () => {
    resized.disconnect()
    themed.disconnect()
    system.removeEventListener('change', draw)
  }
}
