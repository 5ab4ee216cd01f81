import { useState } from 'react'
import { order } from '../api/changes'
import { type Service, uuidOf } from '../api/types'
import { useData, useTenant } from '../api/useData'
import type { JsonObject } from '../api/value'
import { Act } from '../form/Act'
import { PurgeChoice } from './PurgeChoice'
import { everything, hasCache, hasOwnProfiles, purgedText, purgeOf } from './purge'

const kind = 'virtualservice'
const everyMs = 30_000

/** Has engines answer no more with stored responses, where the service has a cache, or may have one. */
export function PurgeCache({ of }: { of: Service }) {
  const tenant = useTenant()
  const profile = uuidOf(of.application_profile_ref)
  const read = useData<JsonObject>(profile ? `/api/applicationprofile/${profile}` : null, everyMs)
  const [choice, setChoice] = useState(everything)
  // Who may not read the profile may purge all the same.
  const isUnreadable = read.value === undefined && read.error !== undefined
  if (!hasCache(read.value) && !isUnreadable && !hasOwnProfiles(of)) return null
  const purge = async () => {
    const asked = purgeOf(choice)
    await order(kind, of.uuid, 'purge', asked, tenant, (answer) => purgedText(of.name, asked, answer['all'] === true))
    setChoice(everything)
  }
  return (
    <Act kind={kind} does={purge} asks={{ title: `Purge the cache of service ${of.name}?`, text: <PurgeChoice of={choice} onChange={setChoice} /> }}>
      Purge cache
    </Act>
  )
}
