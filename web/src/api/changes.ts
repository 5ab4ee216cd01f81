// The one way in which pages change objects: each write is of the version that the page has read, is followed until
// engines have it, and can be undone until somebody else writes. The frame shows the last one.
import { useSyncExternalStore } from 'react'
import { ApiError, callRaw } from './client'
import { sessionEnded } from './session'
import { changesSecret, hasSecret, type JsonObject } from './value'

export interface Change {
  key: number
  /** What was done: "pool web: server 10.0.0.1 disabled". */
  text: string
  /** Of the store, since when it is so. */
  revision: string
  kind: string
  /** Empty: the object is gone. */
  uuid: string
  warnings: string[]
  /** What went wrong: nothing was changed. */
  problem?: string
  /** Does the inverse; undefined: that is not possible, and why says so. */
  undo: (() => Promise<void>) | undefined
  why: string
}

let last: Change | undefined
let keys = 0
const listeners = new Set<() => void>()
const afterwards = new Set<() => void>()

function tell(change: Change | undefined) {
  last = change
  for (const listener of listeners) listener()
}

export function useLastChange(): Change | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => last,
  )
}

/** Says that something was not done, where there is no room for that beside the button. */
export function tellProblem(problem: string) {
  tell({ key: ++keys, text: '', revision: '', kind: '', uuid: '', warnings: [], undo: undefined, why: '', problem })
}

export function dismissChange() {
  tell(undefined)
}

/** Calls back after each write: what pages have read is old then. */
export function onWrite(listener: () => void): () => void {
  afterwards.add(listener)
  return () => afterwards.delete(listener)
}

function done(change: Omit<Change, 'key'>) {
  tell({ ...change, key: ++keys })
  for (const listener of afterwards) listener()
}

interface Write {
  method: string
  path: string
  body?: unknown
  tenant: string
  ifMatch?: string
  slug?: string
}

/** Sends a write that is no change of an object. */
export async function send<T>({ path, ...request }: Write): Promise<{ value: T; revision: string }> {
  try {
    return await callRaw<T>(path, request)
  } catch (error) {
    if (error instanceof ApiError && error.isLoginOver) sessionEnded()
    throw error
  }
}

const versionOf = (object: JsonObject) => String(object['_last_modified'] ?? '')
const uuidIn = (object: JsonObject) => String(object['uuid'] ?? '')
export const nameIn = (object: JsonObject) => String(object['name'] ?? object['uuid'] ?? '')

export function readObject(kind: string, uuid: string, tenant: string): Promise<JsonObject> {
  return send<JsonObject>({ method: 'GET', path: `/api/${kind}/${uuid}?include_name`, tenant }).then(({ value }) => value)
}

/** Has the controller do something with an object that changes no field of it, and cannot be undone. text says what was done, by the answer. */
export async function order(kind: string, uuid: string, action: string, body: unknown, tenant: string, text: (answer: JsonObject) => string): Promise<void> {
  const { value, revision } = await send<JsonObject>({ method: 'POST', path: `/api/${kind}/${uuid}/${action}`, body, tenant })
  done({ text: text(value), revision, kind, uuid, warnings: [], why: '', undo: undefined })
}

/** Creates an object. With a slug, it gets that uuid. */
export async function createObject(kind: string, object: JsonObject, tenant: string, text: string, slug?: string): Promise<JsonObject> {
  const write: Write = { method: 'POST', path: `/api/${kind}`, body: object, tenant }
  if (slug) write.slug = slug
  const { value, revision } = await send<JsonObject>(write)
  done({ text, revision, kind, uuid: uuidIn(value), warnings: warningsIn(value), why: '', undo: () => removeObject(kind, value, tenant, `undone: ${text}`) })
  return value
}

/** Creates an object with those that it refers to. */
export async function createTree(model: string, data: JsonObject, tenant: string, text: string): Promise<JsonObject> {
  const { value, revision } = await send<JsonObject>({ method: 'POST', path: '/api/macro', body: { model_name: model, data }, tenant })
  const created = (value['weir_created'] as JsonObject[]).toReversed()
  done({ text, revision, kind: model.toLowerCase(), uuid: uuidIn(value), warnings: warningsIn(value), why: '', undo: () => removeAll(created, tenant, `undone: ${text}`) })
  return value
}

async function removeAll(created: JsonObject[], tenant: string, text: string) {
  let revision = ''
  for (const object of created) {
    const path = new URL(String(object['url'])).pathname
    revision = (await refusedIfStale(() => send({ method: 'DELETE', path, tenant, ifMatch: versionOf(object) }))).revision
  }
  done({ text, revision, kind: '', uuid: '', warnings: [], undo: undefined, why: '' })
}

/** Puts a new state in place of the one that was read. Error: 412 if somebody wrote since. */
export async function replaceObject(kind: string, before: JsonObject, next: JsonObject, tenant: string, text: string): Promise<JsonObject> {
  const uuid = uuidIn(before)
  const body = { ...next, _last_modified: versionOf(before) }
  const { value, revision } = await send<JsonObject>({ method: 'PUT', path: `/api/${kind}/${uuid}`, body, tenant })
  const lost = changesSecret(before, next)
  done({
    text,
    revision,
    kind,
    uuid,
    warnings: warningsIn(value),
    why: lost ? 'It changed a secret: nobody can read the one before, so it cannot be undone.' : '',
    undo: lost ? undefined : () => refusedIfStale(() => replaceObject(kind, value, before, tenant, `undone: ${text}`)).then(() => undefined),
  })
  return value
}

/** Reads an object, changes it and writes it. */
export async function changeObject(kind: string, uuid: string, tenant: string, text: string, edit: (object: JsonObject) => JsonObject): Promise<JsonObject> {
  const before = await readObject(kind, uuid, tenant)
  return replaceObject(kind, before, edit(before), tenant, text)
}

/** Deletes an object, if nobody has written it since it was read. Engines do not come back by hand. */
export async function removeObject(kind: string, object: JsonObject, tenant: string, text: string, returns = true): Promise<void> {
  const uuid = uuidIn(object)
  const { revision } = await refusedIfStale(() => send({ method: 'DELETE', path: `/api/${kind}/${uuid}`, tenant, ifMatch: versionOf(object) }))
  const lost = hasSecret(object)
  done({
    text,
    revision,
    kind,
    uuid: '',
    warnings: [],
    why: lost ? 'It had a secret that nobody can read, so it cannot be made again from here.' : '',
    undo: lost || !returns ? undefined : () => createObject(kind, object, tenant, `undone: ${text}`, uuid).then(() => undefined),
  })
}

/** Deletes an object, then those of its parts that nothing else uses. What has a secret stays: nobody could bring it back. */
export async function removeWith(kind: string, object: JsonObject, parts: { kind: string; uuid: string }[], tenant: string, text: string): Promise<void> {
  const read = await Promise.all(parts.map(async (part) => ({ kind: part.kind, object: await readObject(part.kind, part.uuid, tenant) })))
  await removeObject(kind, object, tenant, text)
  const gone: { kind: string; object: JsonObject }[] = []
  for (const part of read) {
    try {
      if (!hasSecret(part.object)) await send({ method: 'DELETE', path: `/api/${part.kind}/${uuidIn(part.object)}`, tenant, ifMatch: versionOf(part.object) })
      if (!hasSecret(part.object)) gone.push(part)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error // something else uses it
    }
  }
  const again = async () => {
    for (const part of gone) await send({ method: 'POST', path: `/api/${part.kind}`, body: part.object, tenant, slug: uuidIn(part.object) })
    await createObject(kind, object, tenant, `undone: ${text}`, uuidIn(object))
  }
  if (last) done({ ...last, text: [text, ...gone.map((part) => `${part.kind} ${nameIn(part.object)} deleted`)].join(', '), undo: hasSecret(object) ? undefined : again })
}

async function refusedIfStale<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (error instanceof ApiError && error.status === 412 && /reload/i.test(error.message)) {
      throw new ApiError(412, 'Somebody has changed it since. Nothing was written: look at it again first.')
    }
    throw error
  }
}

function warningsIn(object: JsonObject): string[] {
  const warnings = object['weir_warnings']
  if (!Array.isArray(warnings)) return []
  return warnings.map((warning) => {
    const { field, message } = warning as { field?: string; message?: string }
    return `${field ?? ''}: ${message ?? ''}`
  })
}
