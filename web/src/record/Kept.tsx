import { changeObject } from '../api/changes'
import { useTenant } from '../api/useData'
import { Act } from '../form/Act'
import { Link } from '../url/Link'

const service = 'virtualservice'
const minutes = 30

/** Says which records there are, and has engines keep all of a service for a while. */
export function Kept({ of, name }: { of: string; name: string }) {
  const tenant = useTenant()
  return (
    <>
      Engines keep the records that are significant: of errors, of what broke off, and of requests over 2 s or over what the analytics profile says.
      {of === '' ? (
        <> A <Link to="/services">virtual service</Link> can have them keep all: its page <i>Logs</i> has a button for it.</>
      ) : (
        <>
          {` They can keep all for ${minutes} minutes; above ten a second, one record stands for several. `}
          <Act kind={service} does={() => changeObject(service, of, tenant, `service ${name}: all records kept for ${minutes} minutes`, keepAll)}>
            {`Keep all for ${minutes} minutes`}
          </Act>
        </>
      )}
    </>
  )
}

function keepAll(object: Record<string, unknown>) {
  const policy = object['analytics_policy'] as Record<string, unknown> | undefined
  const logs = policy?.['full_client_logs'] as Record<string, unknown> | undefined
  return { ...object, analytics_policy: { ...policy, full_client_logs: { ...logs, enabled: true, duration: minutes } } }
}
