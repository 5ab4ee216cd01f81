// What differs between some requests and all others: values of fields that they have more often.

/** Fields that are compared: the name by which a reader searches, the field of the API, and what it is. */
export const comparedFields: { name: string; field: string; title: string }[] = [
  { name: 'server', field: 'server_name', title: 'Server' },
  { name: 'status', field: 'response_code', title: 'Status' },
  { name: 'path', field: 'uri_path', title: 'Path' },
  { name: 'method', field: 'method', title: 'Method' },
  { name: 'client', field: 'client_ip', title: 'Client' },
  { name: 'engine', field: 'service_engine', title: 'Engine' },
  { name: 'ua', field: 'user_agent', title: 'User agent' },
  { name: 'host', field: 'host', title: 'Host' },
  { name: 'version', field: 'http_version', title: 'Version of HTTP' },
  { name: 'tls', field: 'ssl_version', title: 'TLS' },
  { name: 'resumed', field: 'ssl_session_reused', title: 'TLS session resumed' },
  { name: 'state', field: 'request_state', title: 'How it ended' },
  { name: 'tried', field: 'servers_tried', title: 'Servers tried' },
]

/** The most frequent values of a field, with how many requests have each. */
export interface Facet {
  field: string
  values?: { value: unknown; weight: number }[]
  /** It has more values than the controller counts at once: none are here. */
  too_many?: boolean
}

export interface Found {
  /** How many requests the facets are of. */
  all: number
  facets: Facet[]
}

export interface Difference {
  name: string
  title: string
  value: string
  /** Shares of the requests that have the value, from 0 to 1. */
  inside: number
  outside: number
  /** The share outside is at most this: the value is not among the most frequent ones of all. */
  isBound: boolean
}

/** How many requests facets are of: each has gone on with a session of TLS or not, so that field never has too many values. */
export function allOf(facets: Facet[]): number {
  return (facets.find((facet) => facet.field === 'ssl_session_reused')?.values ?? []).reduce((sum, one) => sum + one.weight, 0)
}

/** Titles of the fields that cannot be compared. */
export function notCompared(inside: Found, whole: Found): string[] {
  const tooMany = new Set([...inside.facets, ...whole.facets].filter((facet) => facet.too_many).map((facet) => facet.field))
  return comparedFields.filter((one) => tooMany.has(one.field)).map((one) => one.title)
}

const least = 0.05
const most = 8

/** Values that requests inside have more often than those outside, the largest difference first. Whole includes inside. */
export function differences(inside: Found, whole: Found): Difference[] {
  const outsideAll = whole.all - inside.all
  if (inside.all <= 0 || outsideAll <= 0) return []
  const found = comparedFields.flatMap(({ name, field, title }) => {
    const listed = whole.facets.find((facet) => facet.field === field)?.values ?? []
    const everywhere = new Map(listed.map((one) => [String(one.value), one.weight]))
    // What is not listed is no more frequent than the last one that is.
    const bound = listed.at(-1)?.weight
    return (inside.facets.find((facet) => facet.field === field)?.values ?? []).flatMap(({ value, weight }) => {
      const known = everywhere.get(String(value))
      const whole = known ?? bound
      if (whole === undefined || value === '') return []
      return [{ name, title, value: String(value), inside: weight / inside.all, outside: Math.max(0, whole - weight) / outsideAll, isBound: known === undefined }]
    })
  })
  return found
    .filter((one) => one.inside - one.outside >= least)
    .toSorted((a, b) => b.inside - b.outside - (a.inside - a.outside))
    .slice(0, most)
}
