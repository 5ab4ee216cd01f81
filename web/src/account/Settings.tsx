import type { ReactNode } from 'react'
import { Page } from '../part/Page'
import { Link } from '../url/Link'
import { usePath } from '../url/location'
import css from './account.module.css'

const parts = [
  { path: '/settings', name: 'Your account' },
  { path: '/settings/users', name: 'Users and roles' },
  { path: '/settings/tenants', name: 'Tenants' },
  { path: '/settings/tokens', name: 'Your tokens' },
  { path: '/settings/engines', name: 'Join an engine' },
  { path: '/objects/systemconfiguration/default', name: 'System' },
]

/** A page of the settings, with the way to the others. */
export function Settings({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  const path = usePath()
  return (
    <Page title={title} lead={lead}>
      <div className={css.settings}>
        <nav aria-label="Settings">
          {parts.map((part) => (
            <Link key={part.path} to={part.path} aria-current={path === part.path ? 'page' : undefined}>{part.name}</Link>
          ))}
        </nav>
        <div className={css.part}>{children}</div>
      </div>
    </Page>
  )
}
