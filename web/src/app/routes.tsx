import { type ComponentType, lazy, type ReactNode } from 'react'

const ServicePage = lazy(() => import('../service/ServicePage'))
const PoolPage = lazy(() => import('../pool/PoolPage'))
const OverviewPage = lazy(() => import('../overview/OverviewPage'))
const ServicesPage = lazy(() => import('../service/ServicesPage'))
const EnginePage = lazy(() => import('../engine/EnginePage'))
const EnginesPage = lazy(() => import('../engine/EnginesPage'))
const EventsPage = lazy(() => import('../record/EventsPage'))
const LogsPage = lazy(() => import('../record/LogsPage'))
const SecurityPage = lazy(() => import('../security/SecurityPage'))
const AlertsPage = lazy(() => import('../alert/AlertsPage'))
const AuditPage = lazy(() => import('../change/AuditPage'))
const KindsPage = lazy(() => import('../object/KindsPage'))
const ListPage = lazy(() => import('../object/ListPage'))
const NewPage = lazy(() => import('../object/NewPage'))
const ObjectPage = lazy(() => import('../object/ObjectPage'))
const NewServicePage = lazy(() => import('../create/NewServicePage'))
const NewPoolPage = lazy(() => import('../create/NewPoolPage'))
const WelcomePage = lazy(() => import('../account/WelcomePage'))
const AccountPage = lazy(() => import('../account/AccountPage'))
const UsersPage = lazy(() => import('../account/UsersPage'))
const RolePage = lazy(() => import('../account/RolePage'))
const TenantsPage = lazy(() => import('../account/TenantsPage'))
const TokensPage = lazy(() => import('../account/TokensPage'))
const JoinPage = lazy(() => import('../account/JoinPage'))

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
  { path: '/logs', name: 'Logs', key: 'l', Page: LogsPage },
  { path: '/infrastructure', name: 'Infrastructure', key: 'e', Page: EnginesPage },
  { path: '/security', name: 'Security', key: 'c', Page: SecurityPage },
  { path: '/alerts', name: 'Alerts', key: 't', Page: AlertsPage },
  { path: '/events', name: 'Events', key: 'v', Page: EventsPage },
  { path: '/audit', name: 'Audit', key: 'a', Page: AuditPage },
  { path: '/objects', name: 'Objects', key: 'b', Page: KindsPage },
]

const details: [RegExp, ComponentType<{ uuid: string }>][] = [
  [/^\/services\/([\w.-]+)$/, ServicePage],
  [/^\/services\/([\w.-]+)\/logs$/, LogsPage],
  [/^\/pools\/([\w.-]+)$/, PoolPage],
  [/^\/engines\/([\w.-]+)$/, EnginePage],
  [/^\/settings\/roles\/([\w.-]+)$/, RolePage],
]

/** Pages that are not in the navigation: buttons, the palette and the account lead to them. */
export const others: (Omit<PageEntry, 'key'> & { key?: string })[] = [
  { path: '/new', name: 'New service', key: 'n', Page: NewServicePage },
  { path: '/new/pool', name: 'New pool', Page: NewPoolPage },
  { path: '/welcome', name: 'First set-up', Page: WelcomePage },
  { path: '/settings', name: 'Your account', key: ',', Page: AccountPage },
  { path: '/settings/users', name: 'Users and roles', Page: UsersPage },
  { path: '/settings/tenants', name: 'Tenants', Page: TenantsPage },
  { path: '/settings/tokens', name: 'Your tokens', Page: TokensPage },
  { path: '/settings/engines', name: 'Join an engine', Page: JoinPage },
]

// Pages of objects of any kind.
const ofKinds: [RegExp, (kind: string, uuid: string) => ReactNode][] = [
  [/^\/objects\/([a-z]+)$/, (kind) => <ListPage kind={kind} />],
  [/^\/objects\/([a-z]+)\/new$/, (kind) => <NewPage kind={kind} />],
  [/^\/objects\/([a-z]+)\/([\w.:-]+)$/, (kind, uuid) => <ObjectPage kind={kind} uuid={uuid} />],
]

/** Returns the page of a path; undefined: there is none. */
export function pageAt(path: string) {
  const entry = [...entries, ...others].find((one) => one.path === path)
  if (entry) return <entry.Page key={path} />
  for (const [pattern, Page] of details) {
    const uuid = pattern.exec(path)?.[1]
    if (uuid) return <Page key={path} uuid={uuid} />
  }
  for (const [pattern, page] of ofKinds) {
    const [, kind, uuid] = pattern.exec(path) ?? []
    if (kind) return page(kind, uuid ?? '')
  }
  return undefined
}
