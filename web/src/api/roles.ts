// Roles: what they allow, and what the user may do. No I/O.
import type { User } from './session'

export const levels = ['NO_ACCESS', 'READ_ACCESS', 'WRITE_ACCESS'] as const
export type Level = (typeof levels)[number]

export interface Privilege {
  resource: string
  type: string
}

/** A resource of roles that opens something in Weir. */
export interface Resource {
  resource: string
  /** Names of the kinds whose objects it opens. */
  kinds: string[]
  /** What it opens beside. */
  opens: string
}

/** One role of a user. */
export interface Access {
  role_ref?: string
  tenant_ref?: string
  all_tenants?: boolean
}

const rank = (level: string): number => Math.max(0, (levels as readonly string[]).indexOf(level))

/** How far privileges go with a resource. What is not listed is not allowed. */
export function levelOf(privileges: Privilege[] | undefined, resource: string): Level {
  const found = (privileges ?? []).find((one) => one.resource === resource)
  return levels[rank(found?.type ?? '')] ?? 'NO_ACCESS'
}

/** The privileges with another level for one resource. The others, and their order, stay. */
export function withLevel(privileges: Privilege[], resource: string, level: Level): Privilege[] {
  if (!privileges.some((one) => one.resource === resource)) return [...privileges, { resource, type: level }]
  return privileges.map((one) => (one.resource === resource ? { ...one, type: level } : one))
}

/** Whether the user reads what a resource opens, in the tenant that the login began with. The controller decides anew. */
export function mayRead(user: User | undefined, resource: string): boolean {
  return user?.is_superuser === true || rank(levelOf(user?.weir_privileges, resource)) > 0
}

/** Whether the user has the audit trail, which is about all tenants. */
export function mayAudit(user: User | undefined): boolean {
  return user?.is_superuser === true || (mayRead(user, 'PERMISSION_SYSTEMREPORT') && (user?.access ?? []).some((one) => one.all_tenants))
}

const topicKinds: Record<string, string> = { overview: 'virtualservice', vs: 'virtualservice', pool: 'pool', engines: 'serviceengine' }

/** The topics of a stream that the user may read: one that is refused would close the others. */
export function readableTopics(topics: string, kinds: { name: string; may_read: boolean }[]): string {
  return topics
    .split(',')
    .filter((topic) => kinds.find((kind) => kind.name === topicKinds[topic.split(':')[0] ?? ''])?.may_read !== false)
    .join(',')
}

/** "writes 12, reads 30" */
export function sumOf(privileges: Privilege[] | undefined): string {
  const count = (level: Level) => (privileges ?? []).filter((one) => one.type === level).length
  return `writes ${count('WRITE_ACCESS')}, reads ${count('READ_ACCESS')}`
}
