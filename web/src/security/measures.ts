// What the charts of the security page show, over all virtual services of the tenant.
import type { Measure } from '../chart/measure'
import { count } from '../time/format'
import { refusalKinds } from './refusals'

const rate = (series: string) => `sum(rate(${series}[$w]))`

export const handshakes: Measure = {
  key: 'tls', name: 'Handshakes', write: count, lines: [
    { key: 'handshakes', name: 'Handshakes/s', colour: 'accent', expression: rate('weir_service_tls_handshakes_total') },
    { key: 'resumed', name: 'Resumed/s', colour: 'good', dash: [8, 3], expression: rate('weir_service_tls_resumptions_total') },
    { key: 'failed', name: 'Failed/s', colour: 'bad', dash: [5, 3], expression: rate('weir_service_tls_failures_total') },
  ],
}

export const refused: Measure = {
  key: 'refused', name: 'Attacks and refusals, by kind', write: count,
  lines: [
    ...refusalKinds.map(({ causes, ...kind }) => ({ ...kind, expression: rate(`weir_service_failures_total{cause=~"${causes.join('|')}"}`) })),
    { key: 'syn', name: 'SYN cookies/s', colour: 'good', dash: [3, 5], expression: rate('weir_engine_syn_cookies_total') },
  ],
}
