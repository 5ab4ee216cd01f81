export interface Target {
  path: string
  name: string
  what: string
}

/** Returns the targets that a text means best: those that begin with it, then those with a word of it, then those that contain it. */
export function best(targets: Target[], text: string, most: number): Target[] {
  const wanted = text.trim().toLowerCase()
  return targets
    .map((target, at) => ({ target, at, score: score(target, wanted) }))
    .filter(({ score }) => score < none)
    .toSorted((a, b) => a.score - b.score || a.at - b.at)
    .slice(0, most)
    .map(({ target }) => target)
}

const none = 4

function score(target: Target, wanted: string): number {
  const name = target.name.toLowerCase()
  if (wanted === '' || name.startsWith(wanted)) return 0
  if (name.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) return 1
  if (name.includes(wanted)) return 2
  return `${target.what} ${name}`.includes(wanted) ? 3 : none
}
