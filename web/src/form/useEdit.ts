// Edits one object: the version that was read, what the user makes of it, and what the controller says to that.
import { useState } from 'react'
import { nameIn, readObject, replaceObject } from '../api/changes'
import { ApiError } from '../api/client'
import { type JsonObject, mergeOver, same } from '../api/value'
import type { Problem } from './section'

export interface Edit {
  base: JsonObject
  value: JsonObject
  isChanged: boolean
  isBusy: boolean
  /** What is wrong with a field. */
  problem: Problem | undefined
  /** What is wrong with the whole. */
  message: string
  /** The version that somebody else wrote meanwhile. */
  theirs: JsonObject | undefined
  change: (value: JsonObject) => void
  reset: () => void
  save: () => Promise<boolean>
  takeTheirs: () => void
  mergeMine: () => void
}

export function useEdit(kind: string, read: JsonObject, tenant: string): Edit {
  const [base, setBase] = useState(read)
  const [value, setValue] = useState(read)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<{ problem: Problem | undefined; message: string }>({ problem: undefined, message: '' })
  const [theirs, setTheirs] = useState<JsonObject>()
  const take = (object: JsonObject, next = object) => {
    setBase(object)
    setValue(next)
    setTheirs(undefined)
    setRefusal({ problem: undefined, message: '' })
  }
  const save = async (): Promise<boolean> => {
    setBusy(true)
    setRefusal({ problem: undefined, message: '' })
    try {
      take(await replaceObject(kind, base, value, tenant, `${kind} ${nameIn(value)} changed`))
      return true
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setTheirs(await readObject(kind, String(base['uuid']), tenant).catch(() => undefined))
      setRefusal(refusalOf(error))
      return false
    } finally {
      setBusy(false)
    }
  }
  return {
    base,
    value,
    isChanged: !same(base, value),
    isBusy,
    ...refusal,
    theirs,
    change: setValue,
    reset: () => take(base),
    save,
    takeTheirs: () => theirs && take(theirs),
    mergeMine: () => theirs && take(theirs, mergeOver(base, value, theirs)),
  }
}

export function refusalOf(error: unknown): { problem: Problem | undefined; message: string } {
  if (error instanceof ApiError) return { problem: error.about?.field ? error.about : undefined, message: error.message }
  return { problem: undefined, message: error instanceof Error ? error.message : String(error) }
}
