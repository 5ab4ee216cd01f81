// The sentence that the overview begins with: is all well, and who needs somebody.
import type { Need } from '../api/figures'

export interface Known {
  name: string
  need: Need
  /** Why, in the words of the controller. */
  reasons: string[]
  /** Share of errors and the 95 % percentile, where they are the reason. */
  errors?: string
  p95?: string
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
  return parts.join(' ')
}

function head(services: Known[], ill: Known[]): string {
  const disabled = services.filter((service) => service.need === 'disabled').length
  const enabled = services.length - disabled
  const off = disabled > 0 ? ` ${disabled} ${disabled === 1 ? 'is' : 'are'} disabled.` : ''
  if (services.length === 0) return 'There are no virtual services yet.'
  if (enabled === 0) return `All ${services.length} virtual services are disabled.`
  if (ill.length === 0) return (enabled === 1 ? 'The virtual service is well.' : `All ${enabled} virtual services are well.`) + off
  return `${enabled - ill.length} of ${enabled} virtual services ${enabled - ill.length === 1 ? 'is' : 'are'} well.${off}`
}

function about(service: Known): string {
  const why = service.reasons[0] ?? ''
  switch (service.need) {
    case 'errors':
      return `${service.name}: ${service.errors ?? 'many'} of requests get an error${why ? `; ${why}` : ''}.`
    case 'slow':
      return `${service.name}: 5 % of requests take more than ${service.p95 ?? '0.5 s'}.`
    case 'down':
      return `${service.name} is not served${why ? `: ${why}` : ''}.`
    default:
      return `${service.name}: ${why}.`
  }
}

function named(engines: EngineKnown[]): string {
  const names = engines.slice(0, 3).map((engine) => engine.name)
  if (engines.length > 3) names.push(`${engines.length - 3} more`)
  return `${engines.length === 1 ? 'Engine' : 'Engines'} ${names.join(', ')}`
}
