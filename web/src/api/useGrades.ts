import { useMemo } from 'react'
import { ApiError, call } from './client'
import { type Grade, type GradedApplication, type GradedCertificate, type GradedProfile, gradeOf } from './grade'
import { gradedOf, type Parts, parts, type Ported, referencesOf } from './graded'
import { useList, useReading } from './useData'

const everyMs = 60_000
const fields = { sslprofile: 'name,accepted_versions', sslkeyandcertificate: 'name,certificate,ca_certs,key_params', applicationprofile: 'name,type,http_profile' }

/** The grades of the virtual services that speak TLS on a port of their own, by uuid. */
export function useGrades(): Map<string, Grade> {
  const services = useList<Ported>('/api/virtualservice?fields=services,ssl_profile_ref,ssl_key_and_certificate_refs,application_profile_ref', everyMs).value
  const profiles = useList<GradedProfile>(`/api/sslprofile?fields=${fields.sslprofile}`, everyMs).value
  const certificates = useList<GradedCertificate>(`/api/sslkeyandcertificate?fields=${fields.sslkeyandcertificate}`, everyMs).value
  const applications = useList<GradedApplication>(`/api/applicationprofile?fields=${fields.applicationprofile}`, everyMs).value
  return useMemo(() => {
    const grades = new Map<string, Grade>()
    if (!services || !profiles || !certificates || !applications) return grades
    const read = { profiles: byUUID(profiles.results), certificates: byUUID(certificates.results), applications: byUUID(applications.results) }
    for (const service of services.results) {
      const graded = gradedOf(service, read)
      if (graded) grades.set(service.uuid, gradeOf(graded, Date.now()))
    }
    return grades
  }, [services, profiles, certificates, applications])
}

/** The grade of one virtual service: only what it refers to is read. */
export function useGrade(service: Ported | undefined): Grade | undefined {
  const hasTLS = service?.services?.some((port) => port.enable_ssl) ?? false
  const references = service && hasTLS ? referencesOf(service) : []
  const read = useReading<Parts>(hasTLS ? JSON.stringify(['grade', references]) : null, everyMs, async (tenant, signal, background) => {
    const found: Parts = { profiles: new Map(), certificates: new Map(), applications: new Map() }
    await Promise.all(references.map(async ({ kind, uuid }) => {
      const object = await readable(`/api/${kind}/${uuid}`, { tenant, signal, background })
      if (object) (found[parts[kind]] as Map<string, unknown>).set(uuid, object)
    }))
    return found
  }, false).value
  const graded = service && read && gradedOf(service, read)
  return graded && gradeOf(graded, Date.now())
}

/** An object, or undefined if it is not there or may not be read. */
async function readable(path: string, request: { tenant: string; signal: AbortSignal; background: boolean }): Promise<unknown> {
  try {
    return await call(path, request)
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return undefined
    throw error
  }
}

function byUUID<T extends { uuid: string }>(objects: T[]): Map<string, T> {
  return new Map(objects.map((one) => [one.uuid, one]))
}
