// Package plan is a Plan as an agent goes by it: what the controller said, read once, with its addresses, durations and
// references. Read and Next (read.go) are the one place that knows how it is said; router.go, pool.go and object.go are
// what it says, difference.go is how one Plan differs from another.
//
// A Plan that has been read is trusted, and nobody changes it. A Plan that follows another shares with it all that has not
// changed, down to the resources on the wire: so what has changed is found without a look at the rest.
package plan

import (
	"net/netip"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Plan is all that one engine shall do.
type Plan struct {
	Revision       uint64
	Router         *Router // how the engine speaks BGP; nil: not at all
	Advertisements []Advertisement
	Pools          []*Pool
	Listeners      []Listener

	wire    *enginev1.Plan // sorted by uuid
	parts   []part         // what its resources were read as, in their order
	pinning dataplanev1.WorkerPinning
}

// Wire is the Plan as it came, for the disk and for the change that builds on it; nil for no Plan.
func (p *Plan) Wire() *enginev1.Plan {
	if p == nil {
		return nil
	}
	return p.wire
}

// Advertised are the advertisements of a Plan; none of no Plan.
func (p *Plan) Advertised() []Advertisement {
	if p == nil {
		return nil
	}
	return p.Advertisements
}

// BGP is the router of a Plan; nil of no Plan.
func (p *Plan) BGP() *Router {
	if p == nil {
		return nil
	}
	return p.Router
}

// VIPs are the addresses that a Plan advertises, each once, whether they are announced now or not.
func (p *Plan) VIPs() []netip.Addr {
	var all []netip.Addr
	known := map[netip.Addr]bool{}
	for _, said := range p.Advertised() {
		for _, vip := range said.VIPs {
			if !known[vip.Address] {
				known[vip.Address] = true
				all = append(all, vip.Address)
			}
		}
	}
	return all
}

// Listener is where a virtual service listens.
type Listener struct {
	At      netip.AddrPort
	Service Object
	Field   string // of the service
}
