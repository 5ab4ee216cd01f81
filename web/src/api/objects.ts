// What several pages read: the lists of objects with their states.
import { useMemo } from 'react'
import { type Data, useList } from './useData'
import type { Engine, List, Service, Vip } from './types'

const slowMs = 30_000

export function useServices(everyMs: number): Data<List<Service>> {
  return useList<Service>('/api/virtualservice?join_subresources=runtime&include_name&fields=name,description,type,services,vsvip_ref,pool_ref,tenant_ref,vh_parent_vs_ref,runtime', everyMs)
}

export function useEngines(everyMs: number): Data<List<Engine>> {
  return useList<Engine>('/api/serviceengine?join_subresources=runtime&include_name', everyMs)
}

/** The addresses of VIPs, by uuid. */
export function useVips(): Map<string, string> {
  const { value } = useList<Vip>('/api/vsvip?fields=vip', slowMs)
  return useMemo(() => new Map((value?.results ?? []).map((vip) => [vip.uuid, addressesOf(vip)])), [value])
}

function addressesOf(vip: Vip): string {
  return (vip.vip ?? [])
    .flatMap((one) => [one.ip_address?.addr, one.ip6_address?.addr])
    .filter((address) => address !== undefined)
    .join(' ')
}

/** "10.1.0.10 : 443/tls+h2 80", as `weir vs list` writes its columns. */
export function portsOf(service: Service): string {
  return (service.services ?? [])
    .map((one) => {
      const port = one.port_range_end && one.port_range_end !== one.port ? `${one.port}-${one.port_range_end}` : `${one.port}`
      const speaks = [one.enable_ssl ? 'tls' : '', one.enable_http2 ? 'h2' : ''].filter(Boolean).join('+')
      return speaks ? `${port}/${speaks}` : port
    })
    .join(' ')
}
