// The words of states, which are those of `weir status`, and how much each needs the reader.

export type Look = 'good' | 'attention' | 'bad' | 'waiting' | 'off'

const looks: Record<string, Look> = {
  OPER_UP: 'good',
  OPER_DOWN: 'bad',
  OPER_RESOURCES: 'bad',
  OPER_INITIALIZING: 'waiting',
  OPER_UNKNOWN: 'waiting',
  OPER_DISABLED: 'off',
  OPER_UNUSED: 'off',
}

/** An object that is up although something is wrong with it has reasons. */
export function lookOf(state: string, reasons: string[]): { look: Look; word: string } {
  const look = looks[state] ?? 'waiting'
  const word = state.replace(/^OPER_/, '') || 'UNKNOWN'
  return { look: look === 'good' && reasons.length > 0 ? 'attention' : look, word }
}
