// The sentence that the overview begins with: is all well, and who needs somebody.
import type { Need } from '../api/figures'
import type { SlowServer } from '../api/live'
import { slowText } from '../part/slow'
import { ms, percent } from '../time/format'

export interface Known {
  name: string
  need: Need
  /** Why, in the words of the controller. */
  reasons: string[]
  /** Share of errors and the 95 % percentile, where they are the reason. */
  errors?: string
  p95?: string
  slow?: SlowServer[]
}

export interface EngineKnown {
  name: string
  works: boolean
}

/** Says what needs somebody, the worst first, in at most three parts. */
export function sentence(services: Known[], engines: EngineKnown[]): string {
  if (services.length === 0 && engines.length === 0) return 'Nothing is set up yet: let an engine join, then create a virtual service.'
  const lost = engines.filter((engine) => !engine.works)
  const ill = services.filter((service) => service.need !== 'fine' && service.need !== 'disabled')
  const parts = [head(services, ill), ...ill.slice(0, 2).map(about)]
  if (ill.length > 2) parts.push(`${ill.length - 2} more below.`)
  if (engines.length === 0) parts.push('No engine has joined.')
  else if (lost.length > 0) parts.push(`${named(lost)} ${lost.length === 1 ? 'does' : 'do'} not serve.`)
  return parts.filter(Boolean).join(' ')
}

function head(services: Known[], ill: Known[]): string {
  const disabled = services.filter((service) => service.need === 'disabled').length
  const enabled = services.length - disabled
  const off = disabled > 0 ? ` ${disabled} ${disabled === 1 ? 'is' : 'are'} disabled.` : ''
  if (services.length === 0) return 'There are no virtual services yet.'
  if (enabled === 0) return `All ${services.length} virtual services are disabled.`
  if (ill.length === 0) return (enabled === 1 ? 'The virtual service is well.' : `All ${enabled} virtual services are well.`) + off
  if (enabled === 1) return off.trim()
  return `${enabled - ill.length} of ${enabled} virtual services ${enabled - ill.length === 1 ? 'is' : 'are'} well.${off}`
}

function about(service: Known): string {
  const why = service.reasons[0] ?? ''
  const slow = service.slow?.length ? slowness(service.slow) : ''
  switch (service.need) {
    case 'errors':
      return `${service.name}: ${service.errors ?? 'many'} of requests get an error${why ? `; ${why}` : ''}${slow ? `; ${slow}` : ''}.`
    case 'slow':
      if (service.slow?.length) return `${service.name} is slow for ${percent(shareOf(service.slow))} of requests; ${slow}.`
      return `${service.name}: 5 % of requests take more than ${service.p95 ?? '0.5 s'}.`
    case 'down':
      return `${service.name} is not served${why ? `: ${why}` : ''}.`
    default:
      return `${service.name}: ${why}${slow ? `; ${slow}` : ''}.`
  }
}

function shareOf(slow: SlowServer[]): number {
  return slow.reduce((sum, server) => sum + server.share, 0)
}

/** "server 10.0.0.7:80 needs 402 ms (mean) for an answer, the others 10 ms, since 12:04:31" */
function slowness(slow: SlowServer[]): string {
  const [worst] = slow
  if (!worst) return ''
  if (slow.length === 1) return `server ${worst.id} ${slowText(worst, worst.since_ms)}`
  return `servers ${slow.map((server) => server.id).join(', ')} need up to ${ms(worst.app_response_mean_ms)} (mean) for an answer, the others ${ms(worst.others_mean_ms)}`
}

/** Splits a sentence where it names slow servers, so that their names can be links. */
export function partsOf(said: string, slow: SlowServer[]): { text: string; server?: SlowServer }[] {
  const parts: { text: string; server?: SlowServer }[] = []
  let rest = said
  for (const server of slow.toSorted((a, b) => rest.indexOf(a.id) - rest.indexOf(b.id))) {
    const at = rest.indexOf(server.id)
    if (at < 0) continue
    parts.push({ text: rest.slice(0, at) }, { text: server.id, server })
    rest = rest.slice(at + server.id.length)
  }
  return [...parts, { text: rest }]
}

function named(engines: EngineKnown[]): string {
  const names = engines.slice(0, 3).map((engine) => engine.name)
  if (engines.length > 3) names.push(`${engines.length - 3} more`)
  return `${engines.length === 1 ? 'Engine' : 'Engines'} ${names.join(', ')}`
}
