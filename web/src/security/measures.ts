// What the charts of the security page show, over all virtual services of the tenant.
import type { Measure } from '../chart/measure'
import { count } from '../time/format'

const rate = (series: string) => `sum(rate(${series}[$w]))`
const refused = (causes: string) => rate(`weir_service_failures_total{cause=~"${causes}"}`)

export function measuresOf(): Measure[] {
  return [
    {
      key: 'tls', name: 'Handshakes', write: count, lines: [
        { key: 'handshakes', name: 'Handshakes/s', colour: 'accent', expression: rate('weir_service_tls_handshakes_total') },
        { key: 'resumed', name: 'Resumed/s', colour: 'good', dash: [8, 3], expression: rate('weir_service_tls_resumptions_total') },
        { key: 'failed', name: 'Failed/s', colour: 'bad', dash: [5, 3], expression: rate('weir_service_tls_failures_total') },
      ],
    },
    {
      key: 'refused', name: 'Refused and closed', write: count, lines: [
        { key: 'malformed', name: 'Malformed or too large/s', colour: 'bad', expression: refused('client_bad_request|client_uri_too_long|client_head_too_large|client_body_too_large|client_proxy_header') },
        { key: 'slow', name: 'Too slow/s', colour: 'warn', dash: [8, 3], expression: refused('client_accept_timeout|client_head_timeout|client_body_timeout|client_stalled') },
        { key: 'flood', name: 'Floods/s', colour: 'transfer', dash: [2, 3], expression: refused('client_flood|client_sessions') },
        { key: 'full', name: 'No place/s', colour: 'accent', dash: [5, 3], expression: refused('engine_evicted|engine_refused|engine_sessions|engine_memory') },
      ],
    },
  ]
}
