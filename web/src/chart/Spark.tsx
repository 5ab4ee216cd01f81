import css from './chart.module.css'

const width = 96
const height = 20

/** A line of recent values, oldest first; null is a gap. */
export function Spark({ values }: { values: (number | null)[] }) {
  const known = values.filter((value) => value !== null)
  if (known.length < 2) return <svg className={css.spark} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" />
  const most = Math.max(...known, 1e-9)
  return (
    <svg className={css.spark} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" preserveAspectRatio="none">
      <path d={pathOf(values, most)} fill="none" stroke="currentColor" strokeWidth="1.4" vectorEffect="non-scaling-stroke" />
    </svg>
  )
}

function pathOf(values: (number | null)[], most: number): string {
  let path = ''
  let pen = 'M'
  values.forEach((value, at) => {
    if (value === null) {
      pen = 'M'
      return
    }
    const x = (at * width) / Math.max(values.length - 1, 1)
    path += `${pen}${x.toFixed(1)} ${(height - 1.5 - (value / most) * (height - 3)).toFixed(1)}`
    pen = 'L'
  })
  return path
}
