// The stages of the way of a request, as the controller tells them.

export interface Stage {
  name: string
  text: string
}

export interface Row {
  name: string
  then: string
  now: string
}

/** What happened and what would happen now, by stage, in the order of both. */
export function sideBySide(then: Stage[], now: Stage[]): Row[] {
  const rows: Row[] = then.map((stage) => ({ name: stage.name, then: stage.text, now: '' }))
  let after = 0
  for (const { name, text } of now) {
    const at = rows.findIndex((row) => row.name === name)
    if (at < 0) rows.splice(after++, 0, { name, then: '', now: text })
    else {
      rows[at]!.now = text
      after = at + 1
    }
  }
  return rows
}
