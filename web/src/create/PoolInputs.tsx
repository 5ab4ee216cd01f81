import type { Named } from '../api/types'
import { useList } from '../api/useData'
import { algorithms, type Draft, usualMonitor } from './draft'
import { Line } from './Line'
import { type Pasted, textOf } from '../form/servers'

interface Props {
  draft: Draft
  pasted: Pasted
  problem: string | undefined
  set: (part: Partial<Draft>) => void
}

const everyMs = 30_000
const shownMost = 3

/** Servers, how they are checked, and how one is chosen. */
export function PoolInputs({ draft, pasted, problem, set }: Props) {
  const monitors = useList<Named>('/api/healthmonitor?fields=name', everyMs)
  const usual = monitors.value?.results.find((one) => one.name === usualMonitor(draft.protocol))?.uuid ?? ''
  return (
    <>
      <Line name="Servers" note={saidOf(pasted)} problem={problem}>
        {(ties) => (
          <textarea {...ties} rows={3} spellCheck={false} placeholder="10.0.0.7:8080, 10.0.0.8-20:8080" value={draft.servers} onChange={(event) => set({ servers: event.target.value })} />
        )}
      </Line>
      <Line name="Monitor" note={draft.protocol === 'udp' ? 'Choose one of type UDP, DNS, SIP or RADIUS. Without a monitor, all servers are up until they refuse datagrams.' : undefined}>
        {(ties) => (
          <select {...ties} value={draft.monitor ?? usual} onChange={(event) => set({ monitor: event.target.value })}>
            <option value="">none: all servers are up</option>
            {(monitors.value?.results ?? []).map((one) => (
              <option key={one.uuid} value={one.uuid}>{one.name}</option>
            ))}
          </select>
        )}
      </Line>
      <Line name="Algorithm">
        {(ties) => (
          <select {...ties} value={draft.algorithm} onChange={(event) => set({ algorithm: event.target.value })}>
            {algorithms.map((one) => (
              <option key={one.value} value={one.value}>{one.text}</option>
            ))}
          </select>
        )}
      </Line>
    </>
  )
}

function saidOf({ servers }: Pasted): string {
  if (servers.length === 0) return 'A list, with ranges of the last number. Without a port, it is 80.'
  const first = servers.slice(0, shownMost).map(textOf).join(', ')
  return servers.length === 1 ? `1 server: ${first}` : `${servers.length} servers: ${first}${servers.length > shownMost ? ', …' : ''}`
}
