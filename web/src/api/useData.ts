// The one data hook: it reads a path of the API again and again, stops in a hidden tab and after a logout, and keeps the
// old value while it reads, and when it cannot read.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParam } from '../url/location'
import { ApiError, call } from './client'
import { sessionEnded, useSession } from './session'
import type { List } from './types'

export interface Data<T> {
  value: T | undefined
  /** Why the last reading failed. The value is that of the reading before. */
  error: ApiError | undefined
  /** When the value was read, in ms; 0: never. */
  at: number
  retry: () => void
}

const pagesMost = 20
const pageSize = 1000

/** The tenant of the page: "*" is all of them, which is what an administrator sees first; empty: the user's own. */
export function useTenant(): string {
  const chosen = useParam('tenant')
  const { user } = useSession()
  return chosen || (user?.is_superuser ? '*' : '')
}

/** Reads a path each everyMs; null: nothing to read. */
export function useData<T>(path: string | null, everyMs: number): Data<T> {
  return useReading<T>(path, everyMs, (tenant, signal, background) => call<T>(path ?? '', { tenant, signal, background }))
}

/** Reads all objects of a list, however many pages it has, up to 20,000. */
export function useList<T>(path: string | null, everyMs: number): Data<List<T>> {
  return useReading<List<T>>(path, everyMs, (tenant, signal, background) => readAll<T>(path ?? '', { tenant, signal, background }), false)
}

async function readAll<T>(path: string, request: { tenant: string; signal: AbortSignal; background: boolean }): Promise<List<T>> {
  const results: T[] = []
  const paged = `${path}${path.includes('?') ? '&' : '?'}page_size=${pageSize}`
  for (let page = 1; ; page++) {
    const list = await call<List<T>>(`${paged}&page=${page}`, request)
    results.push(...list.results)
    if (!list.next || page === pagesMost) return { count: list.count, results }
  }
}

// How long each path took to read: a slow one is read less often, so that reading never takes more than a tenth of the time.
const tookMs = new Map<string, number>()
const knownPathsMost = 200

/** Reads what read returns each everyMs (Infinity: once), under a key; null: nothing to read. */
export function useReading<T>(
  path: string | null,
  everyMs: number,
  read: (tenant: string, signal: AbortSignal, background: boolean) => Promise<T>,
  /** Whether parts of the value that did not change stay the same objects. To find that out takes long where thousands change. */
  isShared = true,
): Data<T> {
  const tenant = useTenant()
  const { state, user } = useSession()
  const query = useQuery<T, ApiError>({
    queryKey: [user?.username, tenant, path], // what one user has read is not for the next
    enabled: path !== null && state === 'in',
    queryFn: async ({ signal, client, queryKey }) => {
      const begun = performance.now()
      const background = client.getQueryState(queryKey)?.dataUpdatedAt !== 0
      try {
        return await read(tenant, signal, background)
      } catch (error) {
        if (error instanceof ApiError && error.isLoginOver) sessionEnded()
        throw error
      } finally {
        if (tookMs.size >= knownPathsMost) tookMs.clear()
        tookMs.set(path ?? '', performance.now() - begun)
      }
    },
    structuralSharing: isShared,
    refetchInterval: () => everyMs !== Infinity && Math.max(everyMs, 10 * (tookMs.get(path ?? '') ?? 0)),
    placeholderData: (previous, query) => (query?.queryKey[0] === user?.username && query?.queryKey[2] === path ? keepPreviousData(previous) : undefined),
  })
  return {
    value: query.data,
    error: query.error ?? undefined,
    at: query.dataUpdatedAt,
    retry: () => void query.refetch(),
  }
}
