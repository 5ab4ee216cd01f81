// A letter for the TLS of a virtual service, by rules that docs/health.md has in words. Each reason says what it costs, and where to
// change it. It is about what clients are offered, and says nothing of what they use.
export type Letter = 'A+' | 'A' | 'B' | 'C' | 'D' | 'F' | 'unknown'
const letters: Letter[] = ['A+', 'A', 'B', 'C', 'D', 'F', 'unknown']

export interface Reason {
  /** The best letter that is left. */
  letter: Letter
  text: string
  /** Where to change it: kind and uuid of an object. */
  kind: string
  uuid: string
}

export interface Grade {
  letter: Letter
  /** What keeps it from a better letter, the worst first. */
  reasons: Reason[]
}

export interface GradedProfile {
  uuid: string
  name: string
  accepted_versions?: { type: string }[]
}

export interface GradedCertificate {
  uuid: string
  name: string
  certificate?: { certificate?: string; not_before?: string; not_after?: string; self_signed?: boolean; signature_algorithm?: string }
  ca_certs?: unknown[]
  key_params?: { algorithm?: string; rsa_params?: { key_size?: string }; ec_params?: { curve?: string } }
}

export interface GradedApplication {
  uuid: string
  name: string
  type?: string
  http_profile?: { hsts_enabled?: boolean; http_to_https?: boolean; ssl_everywhere_enabled?: boolean }
}

export interface Graded {
  /** The virtual service. */
  uuid: string
  /** Objects that it refers to, and that cannot be read. */
  missing: { kind: string; uuid: string }[]
  profile: GradedProfile | undefined
  certificates: GradedCertificate[]
  application: GradedApplication | undefined
  /** Whether it has a port without TLS, too. */
  hasPlainPort: boolean
}

const dayMs = 86_400_000

export function gradeOf(of: Graded, nowMs: number): Grade {
  const reasons = [...ofMissing(of), ...ofProfile(of.profile), ...of.certificates.flatMap((one) => ofCertificate(one, nowMs)), ...ofApplication(of)].toSorted((a, b) => letters.indexOf(b.letter) - letters.indexOf(a.letter))
  return { letter: reasons[0]?.letter ?? 'A+', reasons }
}

/** Without all of its parts, a service has no grade. */
function ofMissing({ uuid, missing, certificates }: Graded): Reason[] {
  const names: Record<string, string> = { sslprofile: 'the TLS profile', sslkeyandcertificate: 'a certificate', applicationprofile: 'the application profile' }
  const unread: Reason[] = missing.map((one) => ({ letter: 'unknown', text: `${names[one.kind] ?? one.kind} cannot be read`, ...one }))
  if (certificates.length > 0 || unread.some((one) => one.kind === 'sslkeyandcertificate')) return unread
  return [...unread, { letter: 'unknown', text: 'the virtual service has no certificate', kind: 'virtualservice', uuid }]
}

/** The time of a text such as 2026-11-26 00:00:00, which is in UTC. */
function timeOf(text: string | undefined): number {
  return text ? Date.parse(`${text.replace(' ', 'T')}Z`) : NaN
}

function inDays(days: number): string {
  return days === 0 ? 'ends within a day' : `ends in ${days} ${days === 1 ? 'day' : 'days'}`
}

function ofProfile(profile: GradedProfile | undefined): Reason[] {
  if (!profile?.accepted_versions) return []
  const versions = profile.accepted_versions.map((version) => version.type)
  const reason = (letter: Letter, text: string) => ({ letter, text, kind: 'sslprofile', uuid: profile.uuid })
  // Engines offer 1.2 and 1.3 only, whatever a profile accepts; and only cipher suites with forward secrecy.
  return versions.includes('SSL_VERSION_TLS1_3') ? [] : [reason('B', `profile ${profile.name} does not accept TLS 1.3`)]
}

function ofCertificate(of: GradedCertificate, nowMs: number): Reason[] {
  const reasons: Reason[] = []
  const add = (letter: Letter, text: string) => reasons.push({ letter, text: `certificate ${of.name} ${text}`, kind: 'sslkeyandcertificate', uuid: of.uuid })
  const days = Math.floor((timeOf(of.certificate?.not_after) - nowMs) / dayMs)
  if (timeOf(of.certificate?.not_before) > nowMs) add('F', 'is not valid yet')
  if (days < 0) add('F', 'has expired')
  else if (days < 7) add('C', inDays(days))
  else if (days < 30) add('B', inDays(days))
  const bits = Number(/KEY_(\d+)_BITS/.exec(of.key_params?.rsa_params?.key_size ?? '')?.[1] ?? NaN)
  if (bits < 2048) add('D', `has an RSA key of ${bits} bits`)
  if (/md5/i.test(of.certificate?.signature_algorithm ?? '')) add('F', 'is signed with MD5')
  else if (/sha-?1(?!\d)/i.test(of.certificate?.signature_algorithm ?? '')) add('D', 'is signed with SHA-1')
  if (of.certificate?.self_signed) add('C', 'is self-signed: no client trusts it by itself')
  else if ((of.ca_certs ?? []).length === 0 && (of.certificate?.certificate ?? '').split('BEGIN CERTIFICATE').length === 2) add('B', 'comes without the certificates of its issuers')
  return reasons
}

function ofApplication({ application, hasPlainPort }: Graded): Reason[] {
  if (!application || application.type !== 'APPLICATION_PROFILE_TYPE_HTTP') return []
  const { hsts_enabled: hsts, http_to_https: redirects, ssl_everywhere_enabled: everywhere } = application.http_profile ?? {}
  const reason = (letter: Letter, text: string) => ({ letter, text: `profile ${application.name} ${text}`, kind: 'applicationprofile', uuid: application.uuid })
  return [
    ...(hsts || everywhere ? [] : [reason('A', 'has no HSTS: a first request can be led away from TLS')]),
    ...(hasPlainPort && !redirects && !everywhere ? [reason('B', 'serves the port without TLS, and does not redirect it')] : []),
  ]
}
