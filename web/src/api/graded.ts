import type { Graded, GradedApplication, GradedCertificate, GradedProfile } from './grade'
import { uuidOf } from './types'

/** A virtual service, with what its grade depends on. */
export interface Ported {
  uuid: string
  services?: { enable_ssl?: boolean }[]
  ssl_profile_ref?: string
  ssl_key_and_certificate_refs?: string[]
  application_profile_ref?: string
}

/** Objects that could be read, by uuid. */
export interface Parts {
  profiles: Map<string, GradedProfile>
  certificates: Map<string, GradedCertificate>
  applications: Map<string, GradedApplication>
}

/** What services refer to: kinds and uuids. */
export function referencesOf(service: Ported): { kind: keyof typeof parts; uuid: string }[] {
  return [
    { kind: 'sslprofile' as const, uuid: uuidOf(service.ssl_profile_ref) },
    ...[...new Set(service.ssl_key_and_certificate_refs ?? [])].map((ref) => ({ kind: 'sslkeyandcertificate' as const, uuid: uuidOf(ref) })),
    { kind: 'applicationprofile' as const, uuid: uuidOf(service.application_profile_ref) },
  ].filter((one) => one.uuid !== '')
}

export const parts = { sslprofile: 'profiles', sslkeyandcertificate: 'certificates', applicationprofile: 'applications' } as const

/** What is graded of a virtual service; undefined if it speaks TLS on no port of its own. */
export function gradedOf(service: Ported, read: Parts): Graded | undefined {
  const ports = service.services ?? []
  if (!ports.some((port) => port.enable_ssl)) return undefined
  const references = referencesOf(service)
  return {
    uuid: service.uuid,
    missing: references.filter((one) => !read[parts[one.kind]].has(one.uuid)),
    profile: read.profiles.get(uuidOf(service.ssl_profile_ref)),
    certificates: references.flatMap((one) => (one.kind === 'sslkeyandcertificate' ? (read.certificates.get(one.uuid) ?? []) : [])),
    application: read.applications.get(uuidOf(service.application_profile_ref)),
    hasPlainPort: ports.some((port) => !port.enable_ssl),
  }
}
