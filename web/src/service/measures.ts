// What the charts of a virtual service show.
import { selector } from '../api/promql'
import { bothOf, type Measure } from '../chart/measure'
import { bytes, count, ms } from '../time/format'
import { partNames } from '../time/parts'

const ms1000 = (expression: string) => `1000 * ${expression}`
const perSecond = (value: number | null) => `${bytes(value)}/s`

/** The measures of a virtual service; the first is shown when one comes to the page. */
export function measuresOf(uuid: string): Measure[] {
  const of = selector({ uuid })
  const rate = (name: string, more = '') => `sum(rate(weir_service_${name}${more ? of.replace('}', `,${more}}`) : of}[$w]))`
  const quantile = (share: number) => ms1000(`histogram_quantile(${share}, sum(rate(weir_service_total_seconds${of}[$h])))`)
  const mean = (part: string) => ms1000(`sum(rate(weir_service_${part}_seconds_sum${of}[$w])) / (sum(rate(weir_service_timed_requests_total${of}[$w])) > 0)`)
  const gauge = (name: string) => `sum(weir_service_${name}${of})`
  return [
    {
      key: 'requests', name: 'Requests', write: count, lines: [
        { key: 'requests', name: 'Requests/s', colour: 'accent', live: (point) => point.requests_per_s, expression: rate('requests_total'), usual: { metric: 'l7_client.avg_complete_responses', name: 'Responses/s' } },
        { key: '5xx', name: '5xx/s', colour: 'bad', dash: [5, 3], live: (point) => point.responses_per_s?.[4] ?? point.errors_per_s, expression: rate('responses_total', 'class="5xx"') },
        { key: '4xx', name: '4xx/s', colour: 'warn', dash: [2, 3], live: (point) => point.responses_per_s?.[3], expression: rate('responses_total', 'class="4xx"') },
      ],
    },
    {
      key: 'latency', name: 'Latency', write: ms, lines: [
        { key: 'p99', name: 'p99', colour: 'bad', live: (point) => point.p99_ms, expression: quantile(0.99), usual: { metric: 'weir.p99_total_time' } },
        { key: 'p95', name: 'p95', colour: 'warn', dash: [8, 3], live: (point) => point.p95_ms, expression: quantile(0.95) },
        { key: 'p50', name: 'p50', colour: 'good', dash: [3, 3], live: (point) => point.p50_ms, expression: quantile(0.5) },
        { key: 'mean', name: 'Mean', colour: 'transfer', dash: [1, 3], live: (point) => point.mean_ms, expression: mean('total'), usual: { metric: 'l7_client.avg_client_txn_latency' } },
      ],
    },
    {
      key: 'parts', name: 'Parts of the mean time', write: ms, lines: [
        { key: 'wait', name: partNames.wait, colour: 'warn', live: (point) => point.wait_mean_ms, expression: mean('wait') },
        { key: 'response', name: `${partNames.server_rtt} + app response`, colour: 'accent', dash: [8, 3], live: (point) => point.response_mean_ms, expression: mean('response') },
        { key: 'transfer', name: partNames.transfer, colour: 'transfer', dash: [3, 3], live: (point) => point.transfer_mean_ms, expression: mean('data_transfer') },
      ],
    },
    { key: 'engines', name: 'Engines that serve it', write: count, lines: [{ key: 'engines', name: 'Engines', colour: 'transfer', expression: gauge('engines') }] },
    { key: 'open', name: 'Open connections', write: count, lines: [{ key: 'open', name: 'Open', colour: 'accent', live: (point) => point.open_connections, expression: gauge('open_connections'), usual: { metric: 'l4_client.max_open_conns' } }] },
    {
      key: 'connections', name: 'New connections', write: count, lines: [
        { key: 'connections', name: 'Connections/s', colour: 'accent', live: (point) => point.connections_per_s, expression: rate('connections_total'), usual: { metric: 'l4_client.avg_new_established_conns' } },
        { key: 'failures', name: 'Failures/s', colour: 'bad', dash: [5, 3], live: (point) => point.failures_per_s, expression: rate('failures_total') },
      ],
    },
    {
      key: 'tls', name: 'TLS handshakes', write: count, lines: [
        { key: 'handshakes', name: 'Handshakes/s', colour: 'accent', expression: rate('tls_handshakes_total') },
        { key: 'resumed', name: 'Resumed/s', colour: 'good', dash: [8, 3], expression: rate('tls_resumptions_total') },
        { key: 'failed', name: 'Failed/s', colour: 'bad', dash: [5, 3], expression: rate('tls_failures_total') },
      ],
    },
    {
      key: 'health', name: 'Health score', write: (value) => (value === null ? '–' : value.toFixed(0)), lines: [
        { key: 'score', name: 'Score', colour: 'accent', expression: gauge('health_score') },
        { key: 'performance', name: 'Performance', colour: 'good', dash: [8, 3], expression: gauge('health_score_performance') },
        { key: 'resources', name: 'Less: resources', colour: 'warn', dash: [5, 3], expression: gauge('health_score_resources_penalty') },
        { key: 'anomaly', name: 'Less: anomaly', colour: 'transfer', dash: [3, 3], expression: gauge('health_score_anomaly_penalty') },
        { key: 'security', name: 'Less: security', colour: 'bad', dash: [2, 3], expression: gauge('health_score_security_penalty') },
      ],
    },
    {
      key: 'bytes', name: 'Bytes', write: perSecond, lines: [
        { key: 'sent', name: 'To clients', colour: 'accent', live: (point) => point.sent_bytes_per_s, expression: rate('sent_bytes_total') },
        { key: 'received', name: 'From clients', colour: 'transfer', dash: [5, 3], live: (point) => point.received_bytes_per_s, expression: rate('received_bytes_total') },
        { key: 'both', name: 'Both', colour: 'good', dash: [2, 3], live: bothOf, expression: `${rate('sent_bytes_total')} + ${rate('received_bytes_total')}`, usual: { metric: 'l4_client.avg_bandwidth', factor: 1 / 8 } },
      ],
    },
  ]
}
