// Draws a frame with uPlot. It knows nothing of React, and of where the values come from.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Frame } from '../api/promql'
import { clock } from '../time/format'
import { type Band, topOf } from './band'
import type { Measure } from './measure'

const height = 170
const chartPadding = 8

export interface Bounds {
  fromS: number
  toS: number
}

export interface Plot {
  /** Times at which something happened, in s. */
  mark: (times: number[]) => void
  /** What is usual. */
  band: (bands: Band[]) => void
  show: (frame: Frame, bounds: Bounds) => void
  destroy: () => void
}

interface Told {
  /** The reader drew a range, in ms. */
  onDrawn: (fromMs: number, toMs: number) => void
  /** The cursor is at an index of the frame; undefined: it is away. */
  onCursor: (at: number | undefined) => void
}

export function plot(element: HTMLElement, measure: Measure, first: Frame, firstBounds: Bounds, told: Told): Plot {
  let frame = first
  let bounds = firstBounds
  let marked: number[] = []
  let bands: Band[] = []
  const behind = { marked: () => marked, bands: () => bands }
  let chart = draw(element, measure, frame, bounds, told, behind)
  const again = () => {
    chart.destroy()
    chart = draw(element, measure, frame, bounds, told, behind)
  }
  const fill = () => {
    chart.setData([frame.times, ...frame.lines], false)
    chart.setScale('x', { min: bounds.fromS, max: bounds.toS })
  }
  const resized = new ResizeObserver(() => chart.setSize({ width: widthOf(element), height }))
  resized.observe(element)
  const themed = new MutationObserver(again)
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const system = window.matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', again)
  return {
    show(next, nextBounds) {
      frame = next
      bounds = nextBounds
      fill()
    },
    mark(times) {
      marked = times
      chart.redraw(false)
    },
    band(next) {
      bands = next
      fill()
    },
    destroy() {
      resized.disconnect()
      themed.disconnect()
      system.removeEventListener('change', again)
      chart.destroy()
    },
  }
}

/** Without the padding of the element. */
export function widthOf(element: HTMLElement): number {
  return Math.max(200, element.clientWidth - 16)
}

function draw(element: HTMLElement, measure: Measure, frame: Frame, bounds: Bounds, told: Told, behind: { marked: () => number[]; bands: () => Band[] }): uPlot {
  const ink = (token: string) => resolved(element, token)
  const axis = { stroke: ink('dim'), grid: { stroke: ink('line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' }
  return new uPlot(
    {
      width: widthOf(element),
      height,
      padding: [8, chartPadding, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, sync: { key: 'page', filters: { pub: moves, sub: moves } } },
      legend: { show: false },
      scales: { x: { time: true, min: bounds.fromS, max: bounds.toS }, y: { range: (chart, _, most) => [0, topOf(most ?? 0, behind.bands(), chart.scales['x']?.min ?? bounds.fromS, chart.scales['x']?.max ?? bounds.toS)] } },
      axes: [
        { ...axis, size: 26, values: (chart, ticks) => ticks.map((at) => (fits(chart, at) ? tick(at, bounds) : '')), space: 90 },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((value) => measure.write(value)), space: 34 },
      ],
      series: [
        {},
        ...measure.lines.map((line) => ({ label: line.name, stroke: ink(line.colour), width: 1.5, points: { show: false }, ...(line.dash ? { dash: line.dash } : {}) })),
      ],
      hooks: {
        drawAxes: [(chart) => drawBands(chart, behind.bands(), ink)],
        draw: [(chart) => drawMarks(chart, behind.marked(), ink('dim'))],
        setCursor: [(chart) => told.onCursor(chart.cursor.idx ?? undefined)],
        setSelect: [
          (chart) => {
            if (chart.select.width < 4) return
            const { left, width } = chart.select
            told.onDrawn(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000)
            chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          },
        ],
      },
    },
    [frame.times, ...frame.lines],
    element,
  )
}

const daysS = 2 * 86_400

const halfLabel = 26

/** Whether there is room for a label on both sides of a tick. */
function fits(chart: uPlot, atS: number): boolean {
  const x = chart.valToPos(atS, 'x')
  return x >= 0 && x <= chart.bbox.width / (window.devicePixelRatio || 1) - halfLabel + chartPadding
}

function tick(atS: number, { fromS, toS }: Bounds): string {
  const text = clock(atS * 1000)
  return toS - fromS > daysS ? text.slice(0, -3) : text.slice(-8)
}

/** A canvas knows no tokens: it needs the colour itself. */
export function resolved(element: HTMLElement, token: string): string {
  element.style.setProperty('color', `var(--${token})`)
  const colour = getComputedStyle(element).color
  element.style.removeProperty('color')
  return colour
}

/** A quiet area for each band, in the colour of its line. */
function drawBands(chart: uPlot, bands: Band[], ink: (token: string) => string) {
  const { left, top, width, height: tall } = chart.bbox
  const pen = chart.ctx
  pen.save()
  pen.beginPath()
  pen.rect(left, top, width, tall)
  pen.clip()
  for (const { line, steps } of bands) {
    pen.fillStyle = ink(line.colour)
    for (const { fromS, toS, low, high } of steps) {
      const x = Math.round(chart.valToPos(fromS, 'x', true))
      const y = Math.round(chart.valToPos(high, 'y', true))
      const wide = Math.round(chart.valToPos(toS, 'x', true)) - x
      const deep = Math.round(chart.valToPos(low, 'y', true)) - y
      if (deep <= 0) continue
      pen.globalAlpha = fillOpacity
      pen.fillRect(x, y, wide, deep)
      pen.globalAlpha = edgeOpacity
      pen.fillRect(x, y, wide, 1)
      pen.fillRect(x, y + deep - 1, wide, 1)
    }
  }
  pen.restore()
}

const fillOpacity = 0.14
const edgeOpacity = 0.4

/** A dashed line with a triangle on top for each time. */
function drawMarks(chart: uPlot, times: number[], colour: string) {
  const { left, top, width, height: tall } = chart.bbox
  const ratio = window.devicePixelRatio || 1
  const pen = chart.ctx
  pen.save()
  pen.strokeStyle = colour
  pen.fillStyle = colour
  pen.lineWidth = ratio
  for (const at of times) {
    const x = Math.round(chart.valToPos(at, 'x', true))
    if (x < left || x > left + width) continue
    pen.setLineDash([3 * ratio, 3 * ratio])
    pen.beginPath()
    pen.moveTo(x, top)
    pen.lineTo(x, top + tall)
    pen.stroke()
    pen.beginPath()
    pen.moveTo(x - 4 * ratio, top)
    pen.lineTo(x + 4 * ratio, top)
    pen.lineTo(x, top + 6 * ratio)
    pen.fill()
  }
  pen.restore()
}

/** Charts share the cursor, and not the range that is being drawn: one drag is one step back. */
function moves(type: string): boolean {
  return type === 'mousemove' || type === 'mouseleave'
}
