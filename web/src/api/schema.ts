// What the controller says about the kinds of object: their fields, and what the user may do with them.
import { type Data, useData } from './useData'
import type { List } from './types'

export interface Field {
  name: string
  type: 'boolean' | 'integer' | 'number' | 'string' | 'list' | 'object'
  default?: unknown
  min?: number
  max?: number
  /** One value outside of the range. */
  also?: number
  /** Items of a list at most. */
  most?: number
  enum?: string[]
  /** The kind that it refers to. */
  ref?: string
  required?: boolean
  secret?: boolean
  computed?: boolean
  /** No part of Weir reads it. */
  kept?: boolean
  effect?: 'none' | 'closes' | 'refused'
  why?: string
  element?: Field
  fields?: Field[]
}

export interface Kind {
  name: string
  title: string
  /** The uuid of the only object; empty: there can be many. */
  only: string
  per_tenant: boolean
  serving: boolean
  own: boolean
  creatable: boolean
  may_read: boolean
  may_create: boolean
  may_change: boolean
  may_delete: boolean
  why_not?: string
  /** The resource of roles that says who may. */
  permission: string
}

export interface Schema extends Kind {
  fields: Field[]
}

const everyMs = 120_000

export function useKinds(): Data<List<Kind>> {
  return useData<List<Kind>>('/api/weir/schema', everyMs)
}

export function useSchema(kind: string | null): Data<Schema> {
  return useData<Schema>(kind === null ? null : `/api/weir/schema/${kind}`, everyMs)
}
