// Package plan is a Plan as the agent uses it: parsed once, with addresses, durations and references as types. Read
// (read.go) is the only code that knows the wire format. router.go, pool.go and object.go are the parsed parts.
//
// A parsed Plan is trusted, and never changed. Its part for the data plane is passed on unchanged.
package plan

import (
	"net/netip"
	"slices"

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
	Dataplane      *dataplanev1.Plan // the data plane's part

	wire *enginev1.Plan
}

// Wire is the Plan as it was received: for the disk, and as the base of the next delta; nil for no Plan.
func (p *Plan) Wire() *enginev1.Plan {
	if p == nil {
		return nil
	}
	return p.wire
}

// Advertised are the advertisements of a Plan; a nil Plan has none.
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

// VIPs are the addresses that a Plan advertises, each once, whether they are announced at the moment or not.
func (p *Plan) VIPs() []netip.Addr {
	var all []netip.Addr
	for _, said := range p.Advertised() {
		for _, vip := range said.VIPs {
			if !slices.Contains(all, vip.Address) {
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
