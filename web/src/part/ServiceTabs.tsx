import { Link } from '../url/Link'
import css from './tabs.module.css'

const tabs = [
  { key: 'analytics', name: 'Analytics', path: '' },
  { key: 'logs', name: 'Logs', path: '/logs' },
] as const

/** The pages of a virtual service. */
export function ServiceTabs({ uuid, at }: { uuid: string; at: (typeof tabs)[number]['key'] }) {
  return (
    <nav className={css.tabs} aria-label="Pages of this virtual service">
      {tabs.map((tab) => (
        <Link key={tab.key} to={`/services/${uuid}${tab.path}`} aria-current={tab.key === at ? 'page' : undefined}>{tab.name}</Link>
      ))}
    </nav>
  )
}
