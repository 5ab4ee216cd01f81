// What the charts of a pool show, or of one of its servers.
import { selector } from '../api/promql'
import type { Measure } from '../chart/measure'
import { bytes, count, ms, percent } from '../time/format'

export function measuresOf(uuid: string, server?: string): Measure[] {
  const of = selector(server ? { uuid, server } : { uuid })
  const rate = (name: string, more = '') => `sum(rate(weir_server_${name}${more ? of.replace(/}$/, `,${more}}`) : of}[$w]))`
  const quantile = (share: number) => `1000 * histogram_quantile(${share}, sum(rate(weir_server_app_response_seconds${of}[$h])))`
  return [
    {
      key: 'requests', name: 'Requests', write: count, lines: [
        { key: 'requests', name: 'Requests/s', colour: 'accent', expression: rate('requests_total') },
        { key: '5xx', name: '5xx/s', colour: 'bad', dash: [5, 3], expression: rate('responses_total', 'class="5xx"'), usual: { metric: 'l7_server.avg_resp_5xx' } },
        { key: 'failures', name: 'Failures/s', colour: 'warn', dash: [2, 3], expression: rate('failures_total'), usual: { metric: 'l4_server.avg_errored_connections' } },
      ],
    },
    {
      key: 'time', name: 'App response', write: ms, lines: [
        { key: 'p99', name: 'p99', colour: 'bad', expression: quantile(0.99) },
        { key: 'p95', name: 'p95', colour: 'warn', dash: [8, 3], expression: quantile(0.95) },
        { key: 'p50', name: 'p50', colour: 'good', dash: [3, 3], expression: quantile(0.5) },
        { key: 'mean', name: 'Mean', colour: 'transfer', dash: [1, 3], expression: `1000 * ${rate('app_response_seconds_sum')} / (${rate('timed_requests_total')} > 0)`, usual: { metric: 'l7_server.avg_application_response_time' } },
        { key: 'connect', name: 'Connect, mean', colour: 'server-rtt', dash: [5, 3], expression: `1000 * ${rate('connect_seconds_sum')} / (${rate('connections_total')} > 0)` },
      ],
    },
    {
      key: 'connections', name: 'Connections', write: count, lines: [
        { key: 'open', name: 'Open', colour: 'accent', expression: `sum(weir_server_open_connections${of})`, usual: { metric: 'l4_server.avg_open_conns' } },
        { key: 'new', name: 'New/s', colour: 'transfer', dash: [5, 3], expression: rate('connections_total') },
      ],
    },
    {
      key: 'bytes', name: 'Bytes', write: (value) => `${bytes(value)}/s`, lines: [
        { key: 'sent', name: 'To servers', colour: 'transfer', dash: [5, 3], expression: rate('sent_bytes_total') },
        { key: 'received', name: 'From servers', colour: 'accent', expression: rate('received_bytes_total') },
      ],
    },
    ...(server ? [seenUp(of)] : []), // a server without traffic has no series: no share of servers could be right
  ]
}

function seenUp(of: string): Measure {
  return {
    key: 'up', name: 'Share of engines that find it up', write: percent, lines: [
      { key: 'up', name: 'Up', colour: 'good', expression: `avg(weir_server_up${of})` },
    ],
  }
}
