import type { Named } from '../api/types'
import { useData } from '../api/useData'
import { Page } from '../part/Page'
import { ServiceTabs } from '../part/ServiceTabs'
import { setParams, useParam } from '../url/location'
import { connections, requests } from '../api/fields'
import { Explorer } from './Explorer'
import css from './record.module.css'

/** The records of requests and connections: of all virtual services, or of one. */
export default function LogsPage({ uuid }: { uuid?: string }) {
  const service = useData<Named>(uuid ? `/api/virtualservice/${uuid}?fields=name` : null, 60_000)
  const kind = useParam('kind') === 'connections' ? connections : requests
  const name = uuid ? (service.value?.name ?? (service.error ? 'Service' : '…')) : 'Logs'
  return (
    <Page title={name}>
      {uuid && <ServiceTabs uuid={uuid} at="logs" />}
      <div className={css.tabs} role="group" aria-label="Kind of record">
        {[requests, connections].map((one) => (
          <button key={one.name} className={css.button} aria-pressed={kind === one} onClick={() => setParams({ kind: one === requests ? '' : one.name, f: '', sel: '' }, 'push')}>
            {one === requests ? 'Requests' : 'Connections'}
          </button>
        ))}
      </div>
      <Explorer key={kind.name} kind={kind} service={uuid ?? ''} of={uuid ? name : 'all'} />
    </Page>
  )
}
