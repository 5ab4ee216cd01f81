import { useQueryClient } from '@tanstack/react-query'
import { Component, type ErrorInfo, type ReactNode, Suspense, useEffect } from 'react'
import { readSession, useSession } from '../api/session'
import { hasUnsaved } from '../url/unsaved'
import { Login } from '../account/Login'
import { Page } from '../part/Page'
import { Empty, Loading } from '../part/Shown'
import { Link } from '../url/Link'
import { setZone } from '../time/zone'
import { usePath, useParam } from '../url/location'
import { Frame } from './Frame'
import { pageAt } from './routes'

const againMs = 3000

export function App() {
  const { state, reason, user } = useSession()
  const path = usePath().replace(/(.)\/$/, '$1')
  setZone(useParam('zone'))
  useEffect(() => {
    let timer = 0
    const read = () =>
      void readSession().catch(() => {
        timer = window.setTimeout(read, againMs)
      })
    read()
    return () => window.clearTimeout(timer)
  }, [])
  const client = useQueryClient()
  useEffect(() => {
    if (state === 'out' && reason === '') client.clear()
  }, [client, state, reason])
  if (state === 'unknown') return <Loading />
  // A session that ends leaves the page behind the login if something was typed that is not saved. A logout does not.
  const stays = state === 'in' || (reason !== '' && hasUnsaved())
  return (
    <>
      {state === 'out' && <Login />}
      {stays && (
        <div key={user?.username} hidden={state === 'out'}>
          <Frame path={path}>
            {/* Outside of the key: the page before stays until the next one is loaded. */}
            <Suspense fallback={<Loading />}>
              <Boundary key={path}>{pageAt(path) ?? <NoPage path={path} />}</Boundary>
            </Suspense>
          </Frame>
        </div>
      )}
    </>
  )
}

function NoPage({ path }: { path: string }) {
  return (
    <Page title="No such page">
      <Empty title="There is no such page">
        <code>{path}</code>. The pages are in the navigation above; <Link to="/">the overview</Link> is a good start.
      </Empty>
    </Page>
  )
}

/** A defect of one page leaves the others usable. */
class Boundary extends Component<{ children: ReactNode }, { problem: string }> {
  override state = { problem: '' }

  static getDerivedStateFromError(error: unknown) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }

  override componentDidCatch(error: unknown, info: ErrorInfo) {
    console.error('defect of a page', error, info.componentStack)
  }

  override render() {
    if (!this.state.problem) return this.props.children
    return (
      <Page title="This page failed">
        <Empty title="This page has a defect, or was replaced by a newer version">
          <p>{this.state.problem}</p>
          <button onClick={() => window.location.reload()}>Load it again</button>
        </Empty>
      </Page>
    )
  }
}
