// Who is logged in. A session that has ended shows the login over the page; the URL stays, and so does the page behind it.
import { useSyncExternalStore } from 'react'
import { call } from './client'
import type { Access, Privilege } from './roles'

export interface Tenant {
  uuid: string
  name: string
}

export interface User {
  username: string
  full_name?: string
  is_superuser: boolean
  access?: Access[]
  /** What the user may do in the own tenant; what is not allowed is left out. */
  weir_privileges?: Privilege[]
}

export interface Session {
  state: 'unknown' | 'in' | 'out'
  /** Why one has to log in again; empty: it is the first time. */
  reason: string
  user?: User
  tenants: Tenant[]
  version: string
  /** Somebody has gone through the first set-up. */
  isSetUp: boolean
}

interface InitialData {
  user?: User
  tenants?: Tenant[]
  version?: { Tag?: string }
  system_config?: { welcome_workflow_complete?: boolean }
}

let now: Session = { state: 'unknown', reason: '', tenants: [], version: '', isSetUp: true }
const listeners = new Set<() => void>()

function set(next: Session) {
  now = next
  for (const listener of listeners) listener()
}

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => now,
  )
}

/** Asks the controller who is logged in. */
export async function readSession(): Promise<void> {
  const data = await call<InitialData>('/api/initial-data')
  const version = data.version?.Tag ?? ''
  const isSetUp = data.system_config?.welcome_workflow_complete !== false
  if (data.user) set({ state: 'in', reason: '', user: data.user, tenants: data.tenants ?? [], version, isSetUp })
  else set({ state: 'out', reason: '', tenants: [], version, isSetUp: true })
}

export async function logIn(username: string, password: string): Promise<void> {
  await call('/login', { method: 'POST', body: { username, password } })
  await readSession()
}

export async function logOut(): Promise<void> {
  await call('/logout', { method: 'POST', body: {} })
  set({ ...now, state: 'out', reason: '' })
}

export function sessionEnded() {
  if (now.state === 'in') set({ ...now, state: 'out', reason: 'Your session has ended. Log in to go on where you were.' })
}
