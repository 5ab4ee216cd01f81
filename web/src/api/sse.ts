// Server-sent events over fetch: an EventSource cannot send the tenant, and cannot tell a 404 from a lost connection.

export interface Sent {
  event: string
  id: string
  data: string
}

/** Takes text as it comes and gives back the events that are complete. */
export class EventReader {
  private rest = ''

  read(text: string): Sent[] {
    this.rest += text
    const blocks = this.rest.split(/\r?\n\r?\n/)
    this.rest = blocks.pop() ?? ''
    return blocks.map(parse).filter((sent) => sent.data !== '')
  }
}

function parse(block: string): Sent {
  const sent: Sent = { event: 'message', id: '', data: '' }
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const value = line.slice(at + 1).replace(/^ /, '')
    if (line.startsWith('event:')) sent.event = value
    else if (line.startsWith('id:')) sent.id = value
    else if (line.startsWith('data:')) sent.data += value
  }
  return sent
}
