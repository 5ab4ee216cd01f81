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
}

const least = 0.05
const most = 8

/** Values that requests inside have more often than those outside, the largest difference first. Whole includes inside. */
export function differences(inside: Found, whole: Found): Difference[] {
  const outsideAll = whole.all - inside.all
  if (inside.all <= 0 || outsideAll <= 0) return []
  const found = comparedFields.flatMap(({ name, field, title }) => {
    const everywhere = new Map((whole.facets.find((facet) => facet.field === field)?.values ?? []).map((one) => [String(one.value), one.weight]))
    return (inside.facets.find((facet) => facet.field === field)?.values ?? []).flatMap(({ value, weight }) => {
      const whole = everywhere.get(String(value))
      // A value that is not among the most frequent ones of all is rare outside; how rare is not known.
      if (whole === undefined || value === '') return []
      return [{ name, title, value: String(value), inside: weight / inside.all, outside: Math.max(0, whole - weight) / outsideAll }]
    })
  })
  return found
    .filter((one) => one.inside - one.outside >= least)
    .toSorted((a, b) => b.inside - b.outside - (a.inside - a.outside))
    .slice(0, most)
}
