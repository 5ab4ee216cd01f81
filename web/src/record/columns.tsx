import type { Column } from '../table/Table'
import { bytes, clockMs, ms } from '../time/format'
import { Link } from '../url/Link'
import { setParam } from '../url/location'
import type { Entry } from './ask'
import type { Kind } from '../api/fields'
import css from './record.module.css'
import { partsOf, reasons, text, timeOf } from './sentence'

/** What a record is known by. Events have no identity: their time, name and object are one. Rows that stand for missing records have neither. */
export function idOf(entry: Entry): string {
  return text(entry, 'request_id') || `${entry.report_timestamp} ${text(entry, 'event_id') || text(entry, 'virtualservice')} ${text(entry, 'obj_uuid') || text(entry, 'class')}`
}

export function columnsOf(kind: Kind, ofOneService: boolean, entries: Entry[]): Column<Entry>[] {
  const hasDate = entries.some((entry) => clockMs(entry.report_timestamp).length > '14:02:11.345'.length)
  const time = { ...timed, width: hasDate ? '170px' : '100px' }
  if (kind.type === 2) return [time, ...ofEvents]
  const own = kind.type === 1 ? ofRequests : ofConnections
  return [time, ...own.filter((column) => !ofOneService || column.key !== 'service')]
}

const plain = (key: string, head: string, width: string, field: string, more: Partial<Column<Entry>> = {}): Column<Entry> => ({
  key, head, width, sort: (entry) => text(entry, field) || undefined, cell: (entry) => <span title={text(entry, field)}>{text(entry, field)}</span>, ...more,
})

const timed: Column<Entry> = {
  key: 'time', head: 'Time', width: '170px', sort: (entry) => entry.report_timestamp,
  cell: (entry) => <button className={css.open} onClick={() => setParam('sel', idOf(entry), 'push')} title="Open this record" data-open><time dateTime={entry.report_timestamp}>{clockMs(entry.report_timestamp)}</time></button>,
}

const total: Column<Entry> = { key: 'total', head: 'Total', number: true, width: '68px', sort: (entry) => timeOf(entry, 'total_time'), cell: (entry) => ms(timeOf(entry, 'total_time')) }

const ofRequests: Column<Entry>[] = [
  { key: 'status', head: 'Status', number: true, width: '56px', sort: (entry) => Number(text(entry, 'response_code')), cell: (entry) => <Status of={text(entry, 'response_code')} /> },
  plain('method', 'Method', '70px', 'method'),
  plain('path', 'Path', 'minmax(90px, 2fr)', 'uri_path'),
  total,
  { key: 'bar', head: 'Timing', width: '72px', cell: (entry) => <TimingBar entry={entry} /> },
  plain('server', 'Server', 'minmax(126px, 1fr)', 'server_name'),
  plain('client', 'Client', 'minmax(84px, 1fr)', 'client_ip'),
  plain('service', 'Service', 'minmax(80px, 1fr)', 'vs_name'),
  plain('reason', 'Reason', 'minmax(80px, 1.5fr)', 'significant_log', { title: 'Why the record is significant', cell: (entry) => <span title={text(entry, 'significant_log')}>{reasons(entry)}</span> }),
  { key: 'weight', head: 'Stands for', number: true, width: '72px', sort: (entry) => Number(text(entry, 'weight') || 1), cell: (entry) => text(entry, 'weight') || '1' },
]

const ofConnections: Column<Entry>[] = [
  plain('client', 'Client', 'minmax(100px, 1fr)', 'client_ip'),
  plain('service', 'Service', 'minmax(80px, 1fr)', 'vs_name'),
  plain('state', 'Ended as', 'minmax(110px, 1fr)', 'request_state'),
  plain('tls', 'TLS', '64px', 'ssl_version'),
  total,
  { key: 'received', head: 'Received', number: true, width: '68px', sort: (entry) => Number(text(entry, 'rx_bytes')), cell: (entry) => bytes(Number(text(entry, 'rx_bytes'))) },
  { key: 'sent', head: 'Sent', number: true, width: '68px', sort: (entry) => Number(text(entry, 'tx_bytes')), cell: (entry) => bytes(Number(text(entry, 'tx_bytes'))) },
  plain('server', 'Server', 'minmax(110px, 1fr)', 'server_name'),
  plain('reason', 'Reason', 'minmax(100px, 2fr)', 'significant_log', { title: 'Why the record is significant', cell: (entry) => <span title={text(entry, 'significant_log')}>{reasons(entry)}</span> }),
]

const ofEvents: Column<Entry>[] = [
  plain('event', 'Event', 'minmax(150px, 1fr)', 'event_id'),
  plain('object', 'Object', 'minmax(120px, 1fr)', 'obj_name', { cell: (entry) => <About entry={entry} /> }),
  plain('text', 'What', 'minmax(260px, 4fr)', 'event_description'),
]

const pages: Record<string, string> = { VIRTUALSERVICE: '/services/', POOL: '/pools/', SERVICEENGINE: '/engines/' }

function About({ entry }: { entry: Entry }) {
  const page = pages[text(entry, 'obj_type')]
  return page ? <Link to={page + encodeURIComponent(text(entry, 'obj_uuid'))}>{text(entry, 'obj_name')}</Link> : text(entry, 'obj_name')
}

function Status({ of }: { of: string }) {
  return <span data-look={of.startsWith('5') ? 'bad' : of.startsWith('4') ? 'attention' : undefined}>{of && of !== '0' ? of : '–'}</span>
}

export function TimingBar({ entry, isBig }: { entry: Entry; isBig?: boolean }) {
  const parts = partsOf(entry)
  const sum = parts.reduce((total, part) => total + part.ms, 0)
  if (sum === 0) return null
  return (
    <span className={isBig ? `${css.timing} ${css.big}` : css.timing} role="img" aria-label={parts.map((part) => `${part.name} ${ms(part.ms)}`).join(', ')} title={parts.map((part) => `${part.name} ${ms(part.ms)}`).join('\n')}>
      {parts.map((part) => <i key={part.key} data-part={part.key} style={{ flexGrow: part.ms / sum, flexBasis: 0 }} />)}
    </span>
  )
}
