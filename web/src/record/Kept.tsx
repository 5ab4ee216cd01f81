import { changeObject } from '../api/changes'
import type { JsonObject } from '../api/value'
import { useData, useTenant } from '../api/useData'
import { Act } from '../form/Act'
import { Link } from '../url/Link'
import { canKeep, type FullLogs, minutes, saysKeeping } from './keeping'

const service = 'virtualservice'
const everyMs = 10_000

/** Says which records there are, and has engines keep all of a service for a while. */
export function Kept({ of, name }: { of: string; name: string }) {
  const tenant = useTenant()
  const read = useData<{ analytics_policy?: { full_client_logs?: FullLogs } }>(of === '' ? null : `/api/${service}/${of}`, everyMs)
  const logs = read.value?.analytics_policy?.full_client_logs
  return (
    <>
      Engines keep the records that are significant: of errors, of what broke off, and of requests over 2 s or over what the analytics profile says.
      {of === '' ? (
        <> A <Link to="/services">virtual service</Link> can have them keep all: its page <i>Logs</i> has a button for it.</>
      ) : read.value && (
        <>
          {` ${saysKeeping(logs)} `}
          {canKeep(logs) && <Act kind={service} does={() => changeObject(service, of, tenant, `service ${name}: all records kept for ${minutes} minutes`, keepAll)}>
            {`Keep all for ${minutes} minutes`}
          </Act>}
        </>
      )}
    </>
  )
}

function keepAll(object: JsonObject): JsonObject {
  const policy = object['analytics_policy'] as JsonObject | undefined
  const logs = policy?.['full_client_logs'] as (JsonObject & FullLogs) | undefined
  if (!canKeep(logs)) throw new Error('Somebody has had engines keep all records for longer since this page was read.')
  return { ...object, analytics_policy: { ...policy, full_client_logs: { ...logs, enabled: true, duration: minutes } } }
}
