// The one place that knows how live figures come: as a stream of events (GET /api/weir/live). A controller without that
// answers 404, and one that refuses a topic 403; then the pages' own readings of runtime pages fill the series, every two seconds.
import { startTransition, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { ApiError, problemOf, send } from './client'
import { current, nothing } from './current'
import type { ServerLine } from './liveRuntime'
import { readJSON } from './reveal'
import { readableTopics } from './roles'
import { useKinds } from './schema'
import { type Point, seriesOf } from './series'
import { sessionEnded, useSession } from './session'
import { EventReader, type Sent } from './sse'
import { useTenant } from './useData'

/** One virtual service of the overview. */
export interface ServiceLine {
  uuid: string
  state: string
  attention?: string
  point: (Point & { missing?: number }) | null
  /** Servers that need far longer for their answers than the others of their pool, the slowest first. */
  slow_servers?: SlowServer[]
  recent_requests_per_s: (number | null)[]
}

export interface SlowServer {
  id: string
  /** uuid of its pool. */
  pool: string
  /** Of the answers of all servers of the pool, from 0 to 1. */
  share: number
  app_response_mean_ms: number
  others_mean_ms: number
  since_ms: number
}

interface LiveEvent {
  at_ms: number
  overview?: { points: Point[]; virtual_services: ServiceLine[] }
  virtual_services?: { uuid: string; gone?: boolean; points?: Point[] }[]
  engines?: { uuid: string; points: Point[] }[]
  pools?: { uuid: string; gone?: boolean; servers?: ServerLine[] }[]
}

export type Mode = 'connecting' | 'stream' | 'poll' | 'lost'

export interface Live {
  mode: Mode
  /** By uuid; only the topic "overview" fills it, with the 200 that need attention most. */
  lines: Map<string, ServiceLine>
  /** By id; only the topic of a pool fills it, with the 200 servers that need attention most. */
  servers: Map<string, ServerLine>
  /** The newest point of each engine, by uuid; only the topic "engines" fills it. */
  engines: Map<string, Point>
}

const hiddenMostMs = 30_000
const retryMs = 2_000

/** Follows topics: overview, engines, vs:UUID, pool:UUID. */
export function useLive(wanted: string): Live {
  const tenant = useTenant()
  const { state, user } = useSession()
  const kinds = useKinds().value?.results
  // An administrator reads all, and need not wait for what the controller says of that.
  const topics = user?.is_superuser ? wanted : kinds && readableTopics(wanted, kinds)
  const visible = useVisible()
  const [live, setLive] = useState<Live>({ mode: 'connecting', ...nothing })
  const open = state === 'in' && visible
  useEffect(() => {
    if (!open || topics === undefined) return
    if (topics === '') return setLive({ mode: 'poll', ...nothing })
    const stop = new AbortController()
    void follow(topics, tenant, stop.signal, setLive)
    return () => {
      stop.abort()
      setLive({ mode: 'connecting', ...nothing })
    }
  }, [topics, tenant, open])
  useEffect(() => {
    setMode(live.mode)
    return () => setMode('poll')
  }, [live.mode])
  return useMemo(() => current(live), [live])
}

/** False once the tab has been hidden for 30 s. */
function useVisible(): boolean {
  const [visible, setVisible] = useState(true)
  useEffect(() => {
    let timer = 0
    const look = () => {
      window.clearTimeout(timer)
      if (document.hidden) timer = window.setTimeout(() => setVisible(false), hiddenMostMs)
      else setVisible(true)
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      window.clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return visible
}

async function follow(topics: string, tenant: string, signal: AbortSignal, set: (change: (now: Live) => Live) => void) {
  let last = ''
  while (!signal.aborted) {
    try {
      for await (const sent of events(topics, tenant, last, signal)) {
        last = sent.id
        const event = readJSON(sent.data) as LiveEvent
        take(event, tenant)
        // A click goes before what comes each second.
        startTransition(() => set((now) => after(now, event)))
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.isLoginOver) return sessionEnded()
      if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return set(() => ({ mode: 'poll', ...nothing }))
    }
    set((now) => ({ ...now, mode: 'lost' }))
    await new Promise((resolve) => window.setTimeout(resolve, retryMs))
  }
}

async function* events(topics: string, tenant: string, last: string, signal: AbortSignal): AsyncGenerator<Sent> {
  const answer = await send(`/api/weir/live?topics=${encodeURIComponent(topics)}`, { tenant, signal, background: true, lastEvent: last })
  if (!answer.ok || !answer.body) throw problemOf(answer, await answer.text())
  const reader = new EventReader()
  const bytes = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await bytes.read()
    if (done) return
    for (const sent of reader.read(value)) {
      if (sent.event === 'end') throw endOf(sent)
      yield sent
    }
  }
}

function endOf(sent: Sent): ApiError {
  const said = JSON.parse(sent.data) as { reason?: string; status?: number }
  return new ApiError(said.status ?? 503, said.reason ?? '')
}

function take(event: LiveEvent, tenant: string) {
  if (event.overview) seriesOf(`${tenant} overview`).add(event.overview.points)
  for (const service of event.virtual_services ?? []) {
    seriesOf(`${tenant} ${service.uuid}`).add(service.points ?? [])
  }
  for (const engine of event.engines ?? []) seriesOf(`${tenant} ${engine.uuid}`).add(engine.points)
}

/** What a page knows after an event: what the event does not have stays. */
function after(now: Live, { overview, pools, engines }: LiveEvent): Live {
  return {
    mode: 'stream',
    lines: overview ? linesOf(overview.virtual_services) : now.lines,
    servers: pools ? new Map(pools.flatMap((pool) => (pool.servers ?? []).map((line) => [line.id, line]))) : now.servers,
    engines: engines ? new Map([...now.engines, ...engines.flatMap(({ uuid, points }) => points.slice(-1).map((point): [string, Point] => [uuid, point]))]) : now.engines,
  }
}

function linesOf(services: ServiceLine[]): Map<string, ServiceLine> {
  return new Map(services.map((line) => [line.uuid, line]))
}

// How the page in front gets its figures, for the frame.
let mode: Mode = 'poll'
const listeners = new Set<() => void>()

function setMode(next: Mode) {
  mode = next
  for (const listener of listeners) listener()
}

export function useMode(): Mode {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => mode,
  )
}
