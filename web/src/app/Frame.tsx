import { Menu } from '@base-ui/react/menu'
import { Popover } from '@base-ui/react/popover'
import { type ReactNode, useEffect, useState } from 'react'
import { type Mode, useMode } from '../api/live'
import { logOut, useSession } from '../api/session'
import { useTenant } from '../api/useData'
import { SavedBar } from '../form/SavedBar'
import { useNarrow } from '../part/useNarrow'
import { Link } from '../url/Link'
import { setParam, usePressedPath, visit } from '../url/location'
import { Help } from './Help'
import css from './app.module.css'
import { useKeys } from './keys'
import { Palette } from './Palette'
import { entries } from './routes'
import { nextTheme, useTheme } from './theme'
import { isTimed } from './timed'
import { TimePicker } from './TimePicker'

/** What is around every page: navigation, tenant, search, theme, account. */
export function Frame({ path, children }: { path: string; children: ReactNode }) {
  const [over, setOver] = useState<'' | 'palette' | 'help'>('')
  useKeys({ palette: () => setOver('palette'), help: () => setOver('help') })
  return (
    <>
      <a className={css.skip} href="#main">Skip to the page</a>
      <header className={css.bar}>
        <Link to="/" className={css.brand}>Weir</Link>
        <Pages />
        <div className={css.tools}>
          <LiveMark />
          {isTimed(path) && <TimePicker />}
          <Tenants />
          <button className={css.search} onClick={() => setOver('palette')} aria-keyshortcuts="Control+K Meta+K">
            Go to… <kbd>Ctrl K</kbd>
          </button>
          <Link to="/new" className={css.new} title="New service (g n)" aria-label="New service">New</Link>
          <Theme />
          <Account onHelp={() => setOver('help')} />
        </div>
      </header>
      {children}
      <SavedBar />
      {over === 'palette' && <Palette onClose={() => setOver('')} />}
      {over === 'help' && <Help onClose={() => setOver('')} />}
    </>
  )
}

/** The navigation: what was pressed is marked at once, before its page is there. */
function Pages() {
  const path = usePressedPath()
  const isNarrow = useNarrow()
  if (isNarrow) return <PagesButton path={path} />
  return (
    <nav aria-label="Pages" className={css.pages}>
      {entries.map((entry) => (
        <Link key={entry.path} to={entry.path} title={`g ${entry.key}`} aria-current={isIn(path, entry.path) ? 'page' : undefined}>
          {entry.name}
        </Link>
      ))}
    </nav>
  )
}

/** The navigation of a narrow page: a button that opens it, since only three of its names would be in sight. */
function PagesButton({ path }: { path: string }) {
  const [open, setOpen] = useState(false)
  const current = entries.find((entry) => isIn(path, entry.path))
  return (
    <nav aria-label="Pages" className={css.pages}>
      <Popover.Root open={open} onOpenChange={setOpen}>
        <Popover.Trigger className={css.select} aria-label={current ? `Pages: ${current.name}` : 'Pages'}>
          {current?.name ?? 'Pages'} <span aria-hidden="true">▾</span>
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner sideOffset={6} align="start" className={css.positioner}>
            <Popover.Popup className={css.menu} aria-label="Pages">
              {entries.map((entry) => (
                <Link key={entry.path} to={entry.path} className={css.item} aria-current={entry === current ? 'page' : undefined} onClick={() => setOpen(false)}>{entry.name}</Link>
              ))}
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
    </nav>
  )
}

function isIn(path: string, entry: string): boolean {
  return path === entry || (entry !== '/' && path.startsWith(`${entry}/`))
}

const marks: Record<Mode, { word: string; says: string }> = {
  connecting: { word: 'connecting', says: 'The page connects to the controller' },
  stream: { word: 'live', says: 'Figures come each second' },
  poll: { word: 'each 2–5 s', says: 'The page reads the controller every two to five seconds, and not in a hidden tab' },
  lost: { word: 'not live', says: 'The live stream is broken: the page connects again, and reads the figures meanwhile' },
}

function LiveMark() {
  const mode = useMode()
  return <span className={css.live} data-mode={mode} title={marks[mode].says}>{marks[mode].word}</span>
}

function Tenants() {
  const { tenants, user } = useSession()
  const tenant = useTenant()
  if (tenants.length < 2) return null
  return (
    <select aria-label="Tenant" className={css.select} value={tenant} onChange={(event) => setParam('tenant', event.target.value, 'push')}>
      {!user?.is_superuser && <option value="">My tenant</option>}
      {(user?.is_superuser || user?.access?.some((one) => one.all_tenants)) && <option value="*">All tenants</option>}
      {tenants.map((one) => (
        <option key={one.uuid} value={one.uuid}>{one.name}</option>
      ))}
    </select>
  )
}

function Theme() {
  const [theme, setTheme] = useTheme()
  const next = nextTheme(theme)
  return (
    <button className={css.icon} onClick={() => setTheme(next)} title={`Theme: ${theme}. Press for ${next}.`} aria-label={`Theme is ${theme}; change to ${next}`}>
      <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.5" />
        {theme !== 'light' && <path d={theme === 'dark' ? 'M8 2a6 6 0 0 1 0 12a6 6 0 0 1 0-12' : 'M8 2a6 6 0 0 1 0 12z'} fill="currentColor" />}
      </svg>
    </button>
  )
}

function Account({ onHelp }: { onHelp: () => void }) {
  const { user, version } = useSession()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    if (!problem) return
    const timer = window.setTimeout(() => setProblem(''), 8000)
    return () => window.clearTimeout(timer)
  }, [problem])
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className={css.account}>{user?.username}</Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner sideOffset={6} align="end" className={css.positioner}>
            <Menu.Popup className={css.menu}>
              <Menu.Item className={css.item} onClick={() => visit('/settings')}>Settings <kbd>g ,</kbd></Menu.Item>
              <Menu.Item className={css.item} onClick={onHelp}>Keys <kbd>?</kbd></Menu.Item>
              <Menu.Item className={css.item} onClick={() => void logOut().catch((error: Error) => setProblem(error.message))}>Log out</Menu.Item>
              <p className={css.version}>{version}</p>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      {problem && <p role="alert" className={css.alert}>{`You are still logged in: ${problem}`}</p>}
    </>
  )
}
