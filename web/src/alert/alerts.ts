// Alerts as the controller keeps them, and how they are told.

export interface Delivery {
  id: string
  action: string
  name: string
  about: string
  state: 'WAITING' | 'DELIVERED' | 'DEAD'
  tries: number
  answer: string
}

export interface Alert {
  uuid: string
  name: string
  level: string
  state: string
  weir_condition: 'FIRING' | 'RESOLVED'
  weir_alert_config_name?: string
  alert_config_ref?: string
  weir_obj_type?: string
  obj_uuid?: string
  obj_name?: string
  weir_obj_part?: string
  reason?: string
  summary?: string
  timestamp: number
  weir_resolved_timestamp?: number
  throttle_count?: number
  weir_deliveries?: Delivery[]
}

const levels = ['ALERT_HIGH', 'ALERT_MEDIUM', 'ALERT_LOW']

/** Those that last come first, then the more urgent ones, then the newer ones: smaller is first. */
export function rank(alert: Alert): number {
  const level = levels.indexOf(alert.level)
  return (alert.weir_condition === 'FIRING' ? 0 : 10) + (level < 0 ? levels.length : level)
}

export function levelOf(alert: Alert): string {
  return alert.level.replace('ALERT_', '').toLowerCase()
}

/** The sentence that the page begins with. */
export function sentence(alerts: Alert[]): string {
  const firing = alerts.filter((alert) => alert.weir_condition === 'FIRING')
  const high = firing.filter((alert) => alert.level === 'ALERT_HIGH')
  if (firing.length === 0) return 'Nothing is wrong that a rule watches.'
  const first = (high[0] ?? firing[0])!
  const rest = firing.length - 1
  const why = (first.summary || first.reason || first.weir_alert_config_name || 'an alert').replace(/\.$/, '')
  const name = first.obj_name || first.name
  return `${why.startsWith(name) ? '' : `${name}: `}${why}.${rest > 0 ? ` And ${rest} more ${rest === 1 ? 'alert' : 'alerts'}.` : ''}`
}

export interface Rule {
  uuid: string
  name: string
  weir_silences?: { by: string; why: string; until: string; obj_uuid?: string }[]
}

/** Who silenced an alert, if somebody did and it still holds. */
export function silenceOf(alert: Alert, rules: Rule[], nowMs: number): { by: string; why: string } | undefined {
  const rule = rules.find((one) => alert.alert_config_ref?.split('#')[0]?.endsWith(`/${one.uuid}`))
  return rule?.weir_silences?.find((one) => Date.parse(one.until) > nowMs && (!one.obj_uuid || one.obj_uuid === alert.obj_uuid))
}

/** What became of telling it: the worst first. */
export function told(alert: Alert, rules: Rule[], nowMs: number): { text: string; isBad: boolean } {
  const silence = silenceOf(alert, rules, nowMs)
  if (silence) return { text: `silenced by ${silence.by}: ${silence.why}`, isBad: false }
  const deliveries = alert.weir_deliveries ?? []
  const dead = deliveries.filter((one) => one.state === 'DEAD')
  if (dead.length > 0) return { text: `${dead[0]!.name} was not reached: ${dead[0]!.answer}`, isBad: true }
  const waiting = deliveries.filter((one) => one.state === 'WAITING')
  if (waiting.length > 0) return { text: waiting[0]!.tries > 0 ? `${waiting[0]!.name} is tried again, after ${waiting[0]!.tries} ${waiting[0]!.tries === 1 ? 'try' : 'tries'}` : `${waiting[0]!.name} is being told`, isBad: false }
  return { text: deliveries.length > 0 ? `told to ${[...new Set(deliveries.map((one) => one.name))].join(', ')}` : '', isBad: false }
}

const pages: Record<string, string> = { VIRTUALSERVICE: '/services/', POOL: '/pools/', SERVICEENGINE: '/engines/' }

/** The page of what an alert is about, at the time when it began: an hour around it. */
export function pageOf(alert: Alert): string | undefined {
  const page = pages[(alert.weir_obj_type ?? '').toUpperCase()]
  if (!page || !alert.obj_uuid) return undefined
  const server = alert.weir_obj_part ? `server=${encodeURIComponent(alert.weir_obj_part)}&` : ''
  if (alert.weir_condition === 'FIRING') return `${page}${alert.obj_uuid}${server ? `?${server.slice(0, -1)}` : ''}`
  const around = 1800
  const at = (seconds: number) => encodeURIComponent(new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z'))
  return `${page}${alert.obj_uuid}?${server}from=${at(alert.timestamp - around)}&to=${at((alert.weir_resolved_timestamp || alert.timestamp) + around)}`
}
