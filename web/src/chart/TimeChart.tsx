import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Point, Series } from '../api/series'
import { clock } from '../time/format'
import css from './chart.module.css'

export interface Line {
  field: Exclude<keyof Point, 'at_ms'>
  name: string
  /** A token of tokens.css without the dashes. */
  colour: 'accent' | 'bad' | 'warn' | 'good' | 'transfer'
  dash?: number[]
}

const spanS = 300
const height = 150

/** The last five minutes of a series. It draws outside of React, when points come. */
export function TimeChart({ series, lines, write, label }: { series: Series; lines: Line[]; write: (value: number | null) => string; label: string }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    let chart = draw(element, series, lines, write)
    const again = () => {
      chart.destroy()
      chart = draw(element, series, lines, write)
    }
    const resized = new ResizeObserver(() => chart.setSize({ width: widthOf(element), height }))
    resized.observe(element)
    const themed = new MutationObserver(again)
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const system = window.matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', again)
    const leave = series.subscribe(() => {
      chart.setData(dataOf(series, lines), false)
      chart.setScale('x', rangeOf(series))
    })
    return () => {
      leave()
      resized.disconnect()
      themed.disconnect()
      system.removeEventListener('change', again)
      chart.destroy()
    }
  }, [series, lines, write])
  return <div ref={box} className={css.chart} role="img" aria-label={`${label}, last five minutes`} />
}

/** Without the padding of the element. */
function widthOf(element: HTMLElement): number {
  return Math.max(200, element.clientWidth - 16)
}

function dataOf(series: Series, lines: Line[]): uPlot.AlignedData {
  const points = series.points
  return [points.map((point) => point.at_ms / 1000), ...lines.map((line) => points.map((point) => point[line.field] ?? null))]
}

function rangeOf(series: Series): { min: number; max: number } {
  const max = (series.points.at(-1)?.at_ms ?? Date.now()) / 1000
  return { min: max - spanS, max }
}

function draw(element: HTMLElement, series: Series, lines: Line[], write: (value: number | null) => string): uPlot {
  const ink = (token: string) => resolved(element, token)
  const axis = { stroke: ink('dim'), grid: { stroke: ink('line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' }
  const range = rangeOf(series)
  return new uPlot(
    {
      width: widthOf(element),
      height,
      padding: [8, 8, 0, 0],
      cursor: { drag: { x: false, y: false }, sync: { key: 'page' } },
      legend: { live: true },
      scales: { x: { time: true, ...range }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((at) => clock(at * 1000).slice(-8)), space: 90 },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((value) => write(value)), space: 34 },
      ],
      series: [
        { label: 'Time', value: (_, at) => (at === null ? '–' : clock(at * 1000)) },
        ...lines.map((line) => ({
          label: line.name,
          stroke: ink(line.colour),
          width: 1.5,
          points: { show: false },
          value: (_: uPlot, value: number | null) => write(value),
          ...(line.dash ? { dash: line.dash } : {}),
        })),
      ],
    },
    dataOf(series, lines),
    element,
  )
}

/** A canvas knows no tokens: it needs the colour itself. */
function resolved(element: HTMLElement, token: string): string {
  element.style.setProperty('color', `var(--${token})`)
  const colour = getComputedStyle(element).color
  element.style.removeProperty('color')
  return colour
}
