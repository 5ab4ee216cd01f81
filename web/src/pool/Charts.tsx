import { useMemo } from 'react'
import { useMarks } from '../api/marks'
import { useUsual } from '../api/useUsual'
import { metricsOf } from '../chart/band'
import { Chart } from '../chart/Chart'
import { Happened } from '../chart/Happened'
import { useRange } from '../url/useRange'
import { concerns } from './concerns'
import { measuresOf } from './measures'
import css from './pool.module.css'

/** How a pool, or one of its servers, did in the range of the page, and what happened to it. */
export function Charts({ uuid, server, of }: { uuid: string; server?: string; of: string }) {
  const measures = useMemo(() => measuresOf(uuid, server), [uuid, server])
  const range = useRange()
  const all = useMarks([uuid], range)
  const usual = useUsual('pool', uuid, metricsOf(measures), range, server)
  const marks = useMemo(() => (server ? all.filter((mark) => concerns(mark.text, server)) : all), [all, server])
  return (
    <>
      <div className={css.charts}>
        {measures.map((measure) => <Chart key={measure.key} measure={measure} of={of} marks={marks} usual={usual} />)}
      </div>
      <Happened marks={marks} />
    </>
  )
}
