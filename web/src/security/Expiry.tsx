import { clock } from '../time/format'
import { Link } from '../url/Link'
import css from './security.module.css'
import type { Ending } from './tls'

const width = 900
const marks: [string, number][] = [['now', 0], ['7 days', 7], ['30 days', 30], ['90 days', 90], ['1 year', 365], ['10 years', 3650]]
const farthest = 3650
const shownMost = 200

/** The place of a number of days on the line: the near ones are far apart. */
function placeOf(days: number): number {
  return 20 + (Math.log1p(Math.min(Math.max(days, 0), farthest)) / Math.log1p(farthest)) * (width - 60)
}

/** When certificates end, on a line and in a list, the next one first. */
export function Expiry({ endings }: { endings: Ending[] }) {
  if (endings.length === 0) return <p className={css.none}>There are no certificates.</p>
  return (
    <>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Ends of certificates on a line">
        <svg className={css.line} viewBox={`0 0 ${width} 56`} role="img" aria-label={`The next certificate ends in ${endings[0]!.days} ${endings[0]!.days === 1 ? 'day' : 'days'}: ${endings[0]!.certificate.name}`}>
          <path d={`M20 24H${width - 40}`} className={css.axis} />
          {marks.map(([name, days]) => (
            <g key={name} transform={`translate(${placeOf(days)} 0)`}>
              <path d="M0 18v12" className={css.axis} />
              <text y="46" textAnchor={days === 0 ? 'start' : 'middle'}>{name}</text>
            </g>
          ))}
          {endings.slice(0, shownMost).map(({ certificate, days }) => (
            <g key={certificate.uuid} transform={`translate(${placeOf(days)} 24)`} data-look={lookOf(days)}>
              {days <= 7 ? <path d="M-5-5L5 5M5-5L-5 5" stroke="currentColor" strokeWidth="2.5" /> : <circle r="5" fill="currentColor" />}
            </g>
          ))}
        </svg>
      </div>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Certificates: rows">
        <table className={css.table}>
          <thead>
            <tr>{['Certificate', 'For', 'Ends', 'Key', 'Signature'].map((head) => <th key={head} scope="col">{head}</th>)}</tr>
          </thead>
          <tbody>
            {endings.slice(0, shownMost).map(({ certificate, atMs, days }) => (
              <tr key={certificate.uuid}>
                <th scope="row"><Link to={`/objects/sslkeyandcertificate/${certificate.uuid}`}>{certificate.name}</Link></th>
                <td>{certificate.certificate?.subject?.common_name || certificate.certificate?.subject?.distinguished_name || '–'}{certificate.certificate?.self_signed && ' (self-signed)'}</td>
                <td><span data-look={lookOf(days)}>{days < 0 ? `ended ${-days} days ago` : `in ${days} days`}</span>{`, ${clock(atMs)}`}</td>
                <td>{(certificate.key_params?.algorithm ?? '–').replace('SSL_KEY_ALGORITHM_', '')}</td>
                <td>{certificate.certificate?.signature_algorithm ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function lookOf(days: number): string {
  return days <= 7 ? 'bad' : days <= 30 ? 'attention' : 'good'
}
