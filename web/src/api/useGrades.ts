import { useMemo } from 'react'
import { type Grade, type GradedApplication, type GradedCertificate, type GradedProfile, gradeOf } from './grade'
import { uuidOf } from './types'
import { useList } from './useData'

interface Ported {
  uuid: string
  services?: { enable_ssl?: boolean }[]
  ssl_profile_ref?: string
  ssl_key_and_certificate_refs?: string[]
  application_profile_ref?: string
}

const everyMs = 60_000

/** The grades of the virtual services that speak TLS on a port of their own, by uuid. */
export function useGrades(): Map<string, Grade> {
  const services = useList<Ported>('/api/virtualservice?fields=services,ssl_profile_ref,ssl_key_and_certificate_refs,application_profile_ref', everyMs).value
  const profiles = useList<GradedProfile>('/api/sslprofile?fields=name,accepted_versions', everyMs).value
  const certificates = useList<GradedCertificate>('/api/sslkeyandcertificate?fields=name,certificate,ca_certs,key_params', everyMs).value
  const applications = useList<GradedApplication>('/api/applicationprofile?fields=name,type,http_profile', everyMs).value
  return useMemo(() => {
    const grades = new Map<string, Grade>()
    if (!services || !profiles || !certificates || !applications) return grades
    for (const service of services.results) {
      const ports = service.services ?? []
      if (!ports.some((port) => port.enable_ssl)) continue
      const used = new Set((service.ssl_key_and_certificate_refs ?? []).map((ref) => uuidOf(ref)))
      const graded = {
        profile: profiles.results.find((one) => one.uuid === uuidOf(service.ssl_profile_ref)),
        certificates: certificates.results.filter((one) => used.has(one.uuid)),
        application: applications.results.find((one) => one.uuid === uuidOf(service.application_profile_ref)),
        hasPlainPort: ports.some((port) => !port.enable_ssl),
      }
      grades.set(service.uuid, gradeOf(graded, Date.now()))
    }
    return grades
  }, [services, profiles, certificates, applications])
}
