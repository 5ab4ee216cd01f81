// What the charts of an engine show.
import { selector } from '../api/promql'
import { bothOf, type Measure } from '../chart/measure'
import { bytes, count, percent } from '../time/format'

export function measuresOf(uuid: string): Measure[] {
  const of = selector({ uuid })
  const rate = (name: string) => `sum(rate(weir_engine_${name}${of}[$w]))`
  return [
    {
      key: 'cpu', name: 'CPU busy', write: percent, lines: [
        { key: 'cpu', name: 'Of its workers', colour: 'accent', live: (point) => (point.cpu_percent === undefined ? undefined : point.cpu_percent / 100), expression: `${rate('cpu_seconds_total')} / max(weir_engine_workers${of})`, usual: { metric: 'se_stats.avg_cpu_usage', factor: 0.01 } },
      ],
    },
    { key: 'requests', name: 'Requests', write: count, lines: [
      { key: 'requests', name: 'Requests/s', colour: 'accent', live: (point) => point.requests_per_s, expression: rate('requests_total') },
      { key: 'connections', name: 'Connections/s', colour: 'transfer', dash: [5, 3], live: (point) => point.connections_per_s, expression: rate('connections_total') },
    ] },
    { key: 'open', name: 'Open connections', write: count, lines: [{ key: 'open', name: 'Open', colour: 'accent', live: (point) => point.open_connections, expression: `sum(weir_engine_open_connections${of})`, usual: { metric: 'se_stats.avg_connections' } }] },
    { key: 'memory', name: 'Memory', write: bytes, lines: [{ key: 'rss', name: 'Of the data plane', colour: 'accent', live: (point) => point.rss_bytes, expression: `max(weir_engine_resident_bytes${of})` }] },
    {
      key: 'bytes', name: 'Bytes', write: (value) => `${bytes(value)}/s`, lines: [
        { key: 'sent', name: 'To clients', colour: 'accent', live: (point) => point.sent_bytes_per_s, expression: rate('sent_bytes_total') },
        { key: 'received', name: 'From clients', colour: 'transfer', dash: [5, 3], live: (point) => point.received_bytes_per_s, expression: rate('received_bytes_total') },
        { key: 'both', name: 'Both', colour: 'good', dash: [2, 3], live: bothOf, expression: `${rate('sent_bytes_total')} + ${rate('received_bytes_total')}`, usual: { metric: 'se_stats.avg_bandwidth', factor: 1 / 8 } },
      ],
    },
    {
      key: 'machine', name: 'Its machine', write: percent, lines: [
        { key: 'cpu', name: 'CPU in use', colour: 'accent', expression: `${rate('host_cpu_busy_seconds_total')} / ${rate('host_cpu_seconds_total')}` },
        { key: 'memory', name: 'Memory in use', colour: 'transfer', dash: [5, 3], expression: `max(weir_engine_host_memory_used_bytes${of}) / max(weir_engine_host_memory_bytes${of})` },
      ],
    },
    {
      key: 'retransmits', name: 'TCP retransmits', write: percent, lines: [
        { key: 'share', name: 'Of all segments sent', colour: 'accent', expression: `${rate('tcp_retransmitted_segments_total')} / ${rate('tcp_sent_segments_total')}` },
      ],
    },
  ]
}
