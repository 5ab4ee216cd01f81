// The one way to the REST API: the CSRF header, the tenant, and one type of error.
import { readJSON, reveal } from './reveal'

/** What went wrong. Status 0: the controller was not reached. */
export class ApiError extends Error {
  readonly status: number
  /** What the message is about, if the controller says so: a field such as servers[0].port of an object of a kind. */
  readonly about: About | undefined
  constructor(status: number, message: string, about?: About) {
    super(message)
    this.status = status
    this.about = about
  }
  /** The login is over: 419, or 401. */
  get isLoginOver(): boolean {
    return this.status === 419 || this.status === 401
  }
}

export interface About {
  kind: string
  field: string
  problem: string
}

export interface Request {
  method?: string
  body?: unknown
  tenant?: string
  signal?: AbortSignal
  /** A timer sends it: it does not keep the session alive, unless the user did something since the last request. */
  background?: boolean
  /** The id of the last event that a stream has; empty: none. */
  lastEvent?: string
  /** The version that the write is of, as _last_modified. */
  ifMatch?: string
  /** The uuid that a new object shall have. */
  slug?: string
}

export async function call<T>(path: string, request: Request = {}): Promise<T> {
  const answer = await send(path, request)
  const text = await answer.text()
  if (!answer.ok) throw problemOf(answer, text)
  return (text === '' ? undefined : readJSON(text)) as T
}

/** Reads an answer as it was stored, with line ends and characters that do not show: what is edited goes back. */
export async function callRaw<T>(path: string, request: Request = {}): Promise<{ value: T; revision: string }> {
  const answer = await send(path, request)
  const text = await answer.text()
  if (!answer.ok) throw problemOf(answer, text)
  return { value: (text === '' ? undefined : JSON.parse(text)) as T, revision: answer.headers.get('X-Weir-Revision') ?? '' }
}

/** Sends a request; the answer is not read yet. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const init: RequestInit = { method: request.method ?? 'GET', headers: headersOf(request), cache: 'no-store', credentials: 'same-origin' }
  if (request.body !== undefined) init.body = JSON.stringify(request.body)
  if (request.signal) init.signal = request.signal
  try {
    return await fetch(path, init)
  } catch (error) {
    if (request.signal?.aborted) throw error
    throw new ApiError(0, 'The controller cannot be reached.')
  }
}

// A page that shows what it has read before asks nothing when its user comes to it: the next reading tells of the user.
let userActed = false
for (const act of ['keydown', 'pointerdown']) {
  window.addEventListener(act, () => (userActed = true), { capture: true, passive: true })
}

function headersOf(request: Request): Record<string, string> {
  const headers: Record<string, string> = { 'X-Avi-Version': '30.2.1', Accept: 'application/json' }
  if (request.tenant === '*') headers['X-Avi-Tenant'] = '*'
  else if (request.tenant) headers['X-Avi-Tenant-UUID'] = request.tenant
  if (request.background && !userActed) headers['X-Weir-Background'] = 'true'
  else userActed = false
  if (request.ifMatch) headers['If-Match'] = `"${request.ifMatch}"`
  if (request.slug) headers['Slug'] = request.slug
  if (request.lastEvent) headers['Last-Event-ID'] = request.lastEvent
  if (request.body !== undefined) headers['Content-Type'] = 'application/json'
  if (request.method && request.method !== 'GET') headers['X-CSRFToken'] = cookie('csrftoken')
  return headers
}

function cookie(name: string): string {
  for (const pair of document.cookie.split('; ')) {
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1)
  }
  return ''
}

export function problemOf(answer: Response, text: string): ApiError {
  let message = text.slice(0, 500)
  let about: About | undefined
  try {
    const said = readJSON(text) as { error?: unknown; weir_kind?: string; weir_field?: string; weir_problem?: string }
    if (typeof said.error === 'string') message = said.error
    if (said.weir_problem) about = { kind: said.weir_kind ?? '', field: said.weir_field ?? '', problem: said.weir_problem }
  } catch {
    // It is plain text.
  }
  const wait = answer.headers.get('Retry-After')
  if (answer.status === 429 && wait) message += ` Try again in ${wait} s.`
  return new ApiError(answer.status, reveal(message || `The controller answered ${answer.status}.`) as string, about)
}
