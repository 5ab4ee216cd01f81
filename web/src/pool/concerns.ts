// Which events of a pool are about one of its servers.

/** Whether an event concerns a server: it names no server, or this one. */
export function concerns(text: string, server: string): boolean {
  const named = /: server (\S+?):? /.exec(text)?.[1]
  return named === undefined || named === server
}
