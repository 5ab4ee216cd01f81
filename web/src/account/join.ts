// The command with which an engine joins. No I/O.

/** Puts a text into single quotes, as a shell wants it. */
function quoted(text: string): string {
  return /^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Tells whether an engine may have a name: one of a host, or none. */
export function isEngineName(name: string): boolean {
  return name.trim() === '' || /^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,126}[a-zA-Z0-9])?$/.test(name.trim())
}

export function joinCommand(host: string, port: string, token: string, name: string): string {
  const address = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const named = name.trim() ? ` --name ${quoted(name.trim())}` : ''
  return `weir agent --controller ${quoted(`${address}:${port}`)} --token ${quoted(token)}${named}`
}
