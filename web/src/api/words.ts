// Names of kinds, fields and values as people say them. No I/O.

// Words that a title or a name of a field has in capitals.
const acronyms = new Set(['ssl', 'tls', 'http', 'https', 'tcp', 'udp', 'ip', 'ip6', 'vip', 'vrf', 'pki', 'uuid', 'url', 'dns', 'bgp', 'bfd', 'cpu', 'dhcp', 'ui', 'ntp', 'ssh', 'rsa', 'ec', 'pem', 'mtu', 'api', 'as', 'grpc', 'sni', 'se', 'vs', 'hm', 'snat', 'rhi', 'ocsp', 'crl', 'cors', 'fips', 'json', 'xff', 'ttl'])
const titles: Record<string, string> = { VsVip: 'Address (VsVip)', SSLKeyAndCertificate: 'Certificate', ServiceEngine: 'Engine', ServiceEngineGroup: 'Engine group', VrfContext: 'VRF context', PKIProfile: 'PKI profile', SSLProfile: 'SSL profile', CloudConnectorUser: 'SSH user of clouds' }

// Fields whose names say too little.
const names: Record<string, string> = {
  services: 'Ports',
  vsvip_ref: 'Address (VsVip)',
  vh_parent_vs_ref: 'Parent service',
  vh_domain_name: 'Host names (of a child)',
  vh_matches: 'Hosts and paths (of a child)',
  vh_type: 'Kind of hosting',
  se_group_ref: 'Engine group',
  enable_rhi: 'Announce by BGP',
  lb_algorithm: 'Algorithm',
  lb_algorithm_hash: 'Hash of',
}

function worded(words: string[]): string {
  const text = words.map((word) => (acronyms.has(word.toLowerCase()) ? word.toUpperCase() : word.toLowerCase())).join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** "Virtual service" for VirtualService. */
export function titleOf(kind: { title: string }): string {
  return titles[kind.title] ?? worded(kind.title.match(/[A-Z]+(?![a-z])|[A-Z][a-z0-9]+|[a-z0-9]+/g) ?? [kind.title])
}

/** "Health monitors" for health_monitor_refs. */
export function labelOf(name: string): string {
  const named = names[name]
  if (named) return named
  const plural = name.endsWith('_refs')
  const words = name.replace(/_refs?$/, '').split('_').filter(Boolean)
  const text = worded(words)
  return plural && !text.endsWith('s') ? `${text}s` : text
}

/** Values of an enum as words: without the part that all of them begin with. */
export function choices(values: string[]): { value: string; text: string }[] {
  const common = values.length > 1 ? commonBeginning(values) : ''
  return values.map((value) => ({ value, text: value.slice(common.length).replaceAll('_', ' ').toLowerCase() || value }))
}

function commonBeginning(values: string[]): string {
  let common = values[0] ?? ''
  for (const value of values) {
    while (!value.startsWith(common)) common = common.slice(0, -1)
  }
  return common.slice(0, common.lastIndexOf('_') + 1)
}
