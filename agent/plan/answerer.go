package plan

import (
	"net/netip"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/api/parts"
)

// Answerer is a server that sees the addresses of clients, so that it sends its answers to them. The kernel of this
// engine has to give these answers to the data plane.
type Answerer struct {
	At      netip.AddrPort
	Service Object // which has the server; one of several
}

// Answerers are the servers of virtual services that keep the addresses of clients, sorted, each once. A nil Plan has
// none.
func (p *Plan) Answerers() []Answerer {
	var all []Answerer
	for _, resource := range p.Wire().GetResources() {
		service := resource.GetVirtualService()
		if !parts.Listens(service) {
			continue
		}
		for _, part := range append(slices.Clip(service.GetVariants()), service) {
			if part.GetUdp().GetKeepClientAddress() {
				all = append(all, p.answerersOf(service, part)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Answerer) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(all, func(a, b Answerer) bool { return a.At == b.At })
}

// answerersOf are the servers of a virtual service, or of a variant of it.
func (p *Plan) answerersOf(service, part *dataplanev1.VirtualService) (all []Answerer) {
	object := Object{"virtualservice", service.GetUuid(), service.GetName()}
	r := &reader{plan: p}
	seen := map[string]bool{} // pools: many rules may choose the same
	for _, pool := range append(r.poolsOf(part), r.chosenPools(part)...) {
		if seen[pool.UUID] {
			continue
		}
		seen[pool.UUID] = true
		for _, server := range pool.Servers {
			if !server.Address.IsValid() || server.Port == 0 { // the data plane refuses other servers
				continue
			}
			if !pool.UseServicePort {
				all = append(all, Answerer{netip.AddrPortFrom(server.Address, server.Port), object})
				continue
			}
			for _, listener := range service.GetListeners() {
				all = append(all, Answerer{netip.AddrPortFrom(server.Address, uint16(listener.GetPort())), object})
			}
		}
	}
	return all
}
