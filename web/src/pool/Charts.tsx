import { useMemo } from 'react'
import { Chart } from '../chart/Chart'
import { measuresOf } from './measures'
import css from './pool.module.css'

/** How a pool, or one of its servers, did in the range of the page. */
export function Charts({ uuid, server, of }: { uuid: string; server?: string; of: string }) {
  const measures = useMemo(() => measuresOf(uuid, server), [uuid, server])
  return (
    <div className={css.charts}>
      {measures.map((measure) => <Chart key={measure.key} measure={measure} of={of} />)}
    </div>
  )
}
