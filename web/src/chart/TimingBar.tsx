import type { Statistics, Times } from '../api/types'
import { count, ms } from '../time/format'
import { partNames, partsSay } from '../time/parts'
import css from './chart.module.css'

const parts = (['wait', 'server_rtt', 'app_response', 'transfer'] as const).map((key) => ({ key, name: partNames[key], says: partsSay[key] }))

const few = 10

/** Where requests spend their time: the means of the parts, which add up, and the percentiles of each. */
export function TimingBar({ times }: { times: Times }) {
  const total = times.total_ms?.mean ?? 0
  const mean = (key: (typeof parts)[number]['key']) => times[`${key}_ms`]?.mean ?? 0
  return (
    <div className={css.timing}>
      <div className={css.bar} role="img" aria-label={`Mean ${ms(total)}: ${parts.map(({ key, name }) => `${name} ${ms(mean(key))}`).join(', ')}`}>
        {parts.map(({ key, name, says }) => (
          <span key={key} data-part={key} title={`${name}: ${says}`} style={{ flexGrow: Math.max(mean(key), total / 200) }} />
        ))}
      </div>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Times of requests">
        <table>
          <thead>
            <tr>
              <th scope="col">{`Last ${Math.round(times.seconds)} s`}</th>
              <th scope="col">Mean</th>
              <th scope="col">p50</th>
              <th scope="col">p95</th>
              <th scope="col">p99</th>
            </tr>
          </thead>
          <tbody>
            {parts.map(({ key, name, says }) => (
              <tr key={key}>
                <th scope="row" title={says}>
                  <i data-part={key} />
                  {name}
                </th>
                <Numbers of={times[`${key}_ms`]} />
              </tr>
            ))}
            <tr className={css.total}>
              <th scope="row">Total</th>
              <Numbers of={times.total_ms} />
            </tr>
            {times.client_rtt_ms && (
              <tr>
                <th scope="row" title={`${partNames.client_rtt}: ${partsSay.client_rtt}`}>
                  {`${partNames.client_rtt}, ${count(times.client_rtt_connections)} connections`}
                </th>
                <Numbers of={times.client_rtt_ms} />
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <p className={css.note}>
        {times.requests < few && `Little traffic: ${times.requests} requests say little about percentiles. `}
        Means add up to the total. Percentiles do not: the slowest requests of one part are not those of another.
      </p>
    </div>
  )
}

function Numbers({ of }: { of: Statistics | undefined }) {
  return (
    <>
      <td>{ms(of?.mean)}</td>
      <td>{ms(of?.p50)}</td>
      <td>{ms(of?.p95)}</td>
      <td>{ms(of?.p99)}</td>
    </>
  )
}
