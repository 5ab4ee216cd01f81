import { causes, handshakeFailures } from '../api/causes'
import type { Grade } from '../api/grade'
import { useServices } from '../api/objects'
import type { Service } from '../api/types'
import { useList } from '../api/useData'
import { useGrades } from '../api/useGrades'
import { Chart } from '../chart/Chart'
import { GradeText } from '../part/GradeMark'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Shown } from '../part/Shown'
import { type Column, Table } from '../table/Table'
import { TableMenu } from '../table/TableMenu'
import { count, percent } from '../time/format'
import { Link } from '../url/Link'
import { Clients } from './Clients'
import { Expiry } from './Expiry'
import { handshakes, refused } from './measures'
import { isRefusal } from './refusals'
import css from './security.module.css'
import { type Certificate, endingsOf, type Failure, failuresOf, type Handshake, handshakeFailuresOf, mixOf, type Row, rowOf, sentence } from './tls'

/** TLS, certificates, and what was refused, over all virtual services. */
export default function SecurityPage() {
  const services = useServices(5000)
  const certificates = useList<Certificate>('/api/sslkeyandcertificate?fields=name,type,certificate,key_params', 60_000)
  return (
    <Page title="Security">
      <Shown of={services} what="the virtual services">
        {({ results }) => <Content services={results} certificates={certificates.value?.results ?? []} />}
      </Shown>
      <div className={css.two}>
        <Chart measure={refused} of="all services" />
        <Clients />
      </div>
      <Panel title="Certificates" note="when they end">
        <Shown of={certificates} what="the certificates">{({ results }) => <Expiry endings={endingsOf(results, Date.now())} />}</Shown>
      </Panel>
      <Chart measure={handshakes} of="all services" />
    </Page>
  )
}

const gradesWorst = ['unknown', 'F', 'D', 'C', 'B', 'A', 'A+']

function Content({ services, certificates }: { services: Service[]; certificates: Certificate[] }) {
  const grades = useGrades()
  const rows = services.map((service) => rowOf(service, grades.get(service.uuid)))
  const failures = failuresOf(services)
  const withTLS = rows.filter((row) => row.hasTLS || row.handshakes + row.failures > 0)
  const mix = mixOf(services)
  const failed = handshakeFailuresOf(services)
  return (
    <>
      <p className={css.sentence}>{sentence(rows, endingsOf(certificates, Date.now()), failures)}</p>
      <Panel title="TLS with clients" note={`${withTLS.length} of ${rows.length} virtual services`} menu={<TableMenu of="TLS with clients" rows={withTLS} columns={tlsColumns} />}>
        {withTLS.length === 0 ? <p className={css.none}>No virtual service speaks TLS. A service does with <code>enable_ssl</code> on its port, and a certificate.</p> : <Table label="TLS of virtual services" rows={withTLS} columns={tlsColumns} id={(row) => row.service.uuid} first="grade" />}
      </Panel>
      {mix.length > 0 && <Mix rows={mix} />}
      <div className={css.two}>
        <Causes title="Refused, or closed to protect others" failures={failures.filter((failure) => isRefusal(failure.name))} none="Nothing was refused." />
        <Causes title="Failures" failures={failures.filter((failure) => !isRefusal(failure.name))} none="Nothing failed." />
      </div>
      {failed.length > 0 && (
        <Panel title="Why handshakes failed">
          <Lines lines={failed.map((one) => ({ key: one.reason, total: one.total, perSecond: one.per_second ?? 0, says: handshakeFailures[one.reason] ?? '' }))} head="Reason" of="Why handshakes failed" />
        </Panel>
      )}
    </>
  )
}

const tlsColumns: Column<Row>[] = [
  { key: 'name', head: 'Service', width: 'minmax(150px, 2fr)', sort: (row) => row.service.name, cell: (row) => <Link to={`/services/${row.service.uuid}`}>{row.service.name}</Link> },
  { key: 'grade', head: 'Grade', width: '64px', value: (row) => row.grade?.letter, sort: (row) => row.grade && gradesWorst.indexOf(row.grade.letter), cell: (row) => <GradeText of={row.grade} />, title: 'What clients are offered: versions, keys, certificates, HSTS' },
  { key: 'why', head: 'Why', width: 'minmax(200px, 3fr)', value: (row) => row.grade?.reasons.map((reason) => reason.text).join('; '), cell: (row) => <GradeWhy of={row.grade} /> },
  { key: 'rate', head: 'Handshakes/s', number: true, width: '104px', sort: (row) => row.perSecond, cell: (row) => count(row.perSecond) },
  { key: 'all', head: 'In all', number: true, width: '84px', sort: (row) => row.handshakes, cell: (row) => count(row.handshakes), title: 'As counted by the engines since this controller has led' },
  { key: 'tls13', head: 'TLS 1.3', number: true, width: '84px', sort: (row) => row.tls13, cell: (row) => percent(row.tls13), title: 'Share of the handshakes; the others are of TLS 1.2' },
  { key: 'tls12', head: 'TLS 1.2', number: true, width: '84px', sort: (row) => row.tls13 && 1 - row.tls13, cell: (row) => percent(row.tls13 === undefined ? undefined : 1 - row.tls13) },
  { key: 'resumed', head: 'Resumed', number: true, width: '84px', sort: (row) => row.resumed, cell: (row) => percent(row.resumed), title: 'Share of the handshakes that went on with an earlier session' },
  { key: 'failed', head: 'Failed', number: true, width: '84px', sort: (row) => row.failed, cell: (row) => <span data-look={(row.failed ?? 0) >= 0.05 ? 'bad' : undefined}>{percent(row.failed)}</span>, title: 'Share of those that were tried' },
]

function GradeWhy({ of }: { of: Grade | undefined }) {
  const worst = of?.reasons[0]
  if (!worst) return null
  const more = (of?.reasons.length ?? 0) - 1
  return <Link to={`/objects/${worst.kind}/${worst.uuid}`} title={of?.reasons.map((reason) => reason.text).join('; ')}>{`${worst.text}${more > 0 ? `; ${more} more` : ''}`}</Link>
}

const mixMost = 40

function Mix({ rows }: { rows: Handshake[] }) {
  const all = rows.reduce((sum, row) => sum + row.total, 0)
  return (
    <Panel title="What handshakes agreed on" note="over all virtual services">
      <div className={css.scroll} tabIndex={0} role="region" aria-label="What handshakes agreed on: rows">
        <table className={css.table}>
          <thead>
            <tr>{['Version', 'Cipher suite', 'Key exchange', 'Key', 'Resumed', 'Handshakes', 'Share'].map((head, at) => <th key={head} scope="col" data-number={at > 4 || undefined}>{head}</th>)}</tr>
          </thead>
          <tbody>
            {rows.slice(0, mixMost).map((row, at) => (
              <tr key={at}>
                <th scope="row">{row.version}</th>
                <td>{row.cipher_suite ?? '–'}</td>
                <td>{row.group || 'none'}</td>
                <td>{row.key || '–'}</td>
                <td>{row.resumed ? 'yes' : 'no'}</td>
                <td data-number>{count(row.total)}</td>
                <td data-number>{percent(row.total / all)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function Causes({ title, failures, none }: { title: string; failures: Failure[]; none: string }) {
  return (
    <Panel title={title} note="by cause">
      {failures.length === 0 ? <p className={css.none}>{none}</p> : <Lines of={title} head="Cause" lines={failures.map((one) => ({ key: one.name, total: one.total, perSecond: one.perSecond, says: causes[one.name] ?? '', most: one.most }))} />}
    </Panel>
  )
}

interface CauseLine {
  key: string
  total: number
  perSecond: number
  says: string
  most?: Service
}

function Lines({ of, lines, head }: { of: string; lines: CauseLine[]; head: string }) {
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label={`${of}: rows`}>
      <table className={css.table}>
        <thead>
          <tr>{[head, 'Per second', 'In all'].map((one) => <th key={one} scope="col" data-number={one !== head || undefined}>{one}</th>)}</tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.key}>
              <th scope="row">
                <code>{line.key}</code>
                {line.most && <Link to={`/services/${line.most.uuid}`} className={css.most}>{`most at ${line.most.name}`}</Link>}
                <p>{line.says}</p>
              </th>
              <td data-number>{count(line.perSecond)}</td>
              <td data-number>{count(line.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
