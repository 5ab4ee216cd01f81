import { type ComponentType, lazy } from 'react'

const ServicePage = lazy(() => import('../service/ServicePage'))
const PoolPage = lazy(() => import('../pool/PoolPage'))
const OverviewPage = lazy(() => import('../overview/OverviewPage'))
const ServicesPage = lazy(() => import('../service/ServicesPage'))
const EnginePage = lazy(() => import('../engine/EnginePage'))
const EnginesPage = lazy(() => import('../engine/EnginesPage'))
const EventsPage = lazy(() => import('../event/EventsPage'))
const AuditPage = lazy(() => import('../change/AuditPage'))

export interface PageEntry {
  path: string
  name: string
  /** Pressed after "g". */
  key: string
  Page: ComponentType
}

/** The pages of the navigation. */
export const entries: PageEntry[] = [
  { path: '/', name: 'Overview', key: 'o', Page: OverviewPage },
  { path: '/services', name: 'Services', key: 's', Page: ServicesPage },
  { path: '/infrastructure', name: 'Infrastructure', key: 'e', Page: EnginesPage },
  { path: '/events', name: 'Events', key: 'v', Page: EventsPage },
  { path: '/audit', name: 'Audit', key: 'a', Page: AuditPage },
]

const details: [RegExp, ComponentType<{ uuid: string }>][] = [
  [/^\/services\/([\w.-]+)$/, ServicePage],
  [/^\/pools\/([\w.-]+)$/, PoolPage],
  [/^\/engines\/([\w.-]+)$/, EnginePage],
]

const timed = [/^\/services\/[^/]+/, /^\/pools\//, /^\/engines\//, /^\/logs$/]

/** Tells whether a page is about a range of time, which the frame lets its reader choose. */
export function isTimed(path: string): boolean {
  return timed.some((pattern) => pattern.test(path))
}

/** Returns the page of a path; undefined: there is none. */
export function pageAt(path: string) {
  const entry = entries.find((one) => one.path === path)
  if (entry) return <entry.Page key={path} />
  for (const [pattern, Page] of details) {
    const uuid = pattern.exec(path)?.[1]
    if (uuid) return <Page key={path} uuid={uuid} />
  }
  return undefined
}
