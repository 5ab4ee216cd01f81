import type { Autoscale, ScaleOrder } from '../api/types'
import { age } from '../time/format'

const phases: Record<string, string> = {
  DRAINING: 'disabled until they have finished what they have',
  ASKING: 'the webhook is being asked',
  WAITING: 'the webhook has taken the order',
  DONE: 'done',
  FAILED: 'failed',
  CALLED_OFF: 'called off',
}

/** What a pool with a policy does, in sentences: the sizes, why it scales or not, and the last orders. */
export function scalingOf(of: Autoscale, now = Date.now()): string[] {
  const said = [`${servers(of.size)} enabled, of ${of.min_size} to ${of.max_size}. ${of.reason.charAt(0).toUpperCase()}${of.reason.slice(1)}.`]
  if (of.scaleout) said.push(`Last order for more: ${servers(of.scaleout.num_servers)}, ${phaseOf(of.scaleout, now)}.`)
  if (of.scalein) said.push(`Last order for fewer: ${of.scalein.servers?.join(', ') || servers(of.scalein.num_servers)}, ${phaseOf(of.scalein, now)}.`)
  return said
}

function phaseOf({ phase, since, result }: ScaleOrder, now: number): string {
  return `${phases[phase] ?? phase}${phase === 'FAILED' && result ? `: ${result}` : ''} (${age(since, now)} ago)`
}

function servers(count: number): string {
  return count === 1 ? '1 server' : `${count} servers`
}
