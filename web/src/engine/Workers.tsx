import type { EngineRuntime } from '../api/types'
import { Panel } from '../part/Panel'
import { count, percent } from '../time/format'
import css from './engine.module.css'

/** One bar for each worker: an uneven load is seen at once. */
export function Workers({ of }: { of: EngineRuntime | undefined }) {
  const workers = of?.workers ?? []
  const loads = workers.map((worker) => worker.cpu_percent ?? 0)
  const mean = loads.reduce((sum, load) => sum + load, 0) / Math.max(1, loads.length)
  const uneven = mean > 5 && Math.max(...loads) > 1.5 * mean
  return (
    <Panel title="Workers" note={uneven ? `uneven: the busiest has ${(Math.max(...loads) / mean).toFixed(1)} times the mean` : 'a core each'}>
      {workers.length === 0 && <p className={css.none}>Its data plane has not reported its workers yet.</p>}
      <ul className={css.list}>
        {workers.map((worker) => (
          <li key={worker.worker}>
            <span className={css.name}>{`Worker ${worker.worker}`}</span>
            <meter className={css.meter} min={0} max={100} value={worker.cpu_percent ?? 0} aria-label={`CPU of worker ${worker.worker}`} />
            <span className={css.figure}>{percent(worker.cpu_percent === undefined ? undefined : worker.cpu_percent / 100)}</span>
            <span className={css.figure} title="Open connections">{`${count(worker.open_connections)} open`}</span>
            <span className={css.figure} title="Events from the kernel in each batch: many mean that the worker is busy">{`${batch(worker.per_second)} a batch`}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function batch(rates: { batches: number; events: number } | undefined): string {
  return rates && rates.batches > 0 ? count(rates.events / rates.batches) : '–'
}
