import { useMemo } from 'react'
import { setParams, useParam } from './location'
import { type Range, readRange, writeRange } from '../time/range'

/** The range of the URL. */
export function useRange(): Range {
  const from = useParam('from')
  const to = useParam('to')
  return useMemo(() => readRange(from, to), [from, to])
}

/** Goes to a range. Back returns to the one before. */
export function setRange(range: Range) {
  setParams(writeRange(range), 'push')
}
