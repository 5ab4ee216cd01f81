// Package plan is a Plan as the agent uses it: parsed once, with addresses, durations and references as types. Read and
// Next (read.go) are the only code that knows the wire format. router.go, pool.go and object.go are the parsed parts,
// difference.go compares two Plans.
//
// A parsed Plan is trusted, and never changed. A Plan that follows another shares unchanged parts with it, down to the
// resources on the wire: comparing pointers finds what has changed.
package plan

import (
	"net/netip"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Plan is everything that one engine has to do.
type Plan struct {
	Revision       uint64
	Router         *Router // how the engine speaks BGP; nil: not at all
	Advertisements []Advertisement
	Pools          []*Pool
	Listeners      []Listener
	Conditionals   []Conditional // of these listeners

	wire    *enginev1.Plan // sorted by uuid
	parts   []part         // what its resources were read as, in their order
	pinning dataplanev1.WorkerPinning
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
	known := map[netip.Addr]bool{}
	for _, advertisement := range p.Advertised() {
		for _, vip := range advertisement.VIPs {
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
	At       netip.AddrPort
	Protocol Protocol
	Service  Object
	Field    string // of the service
}

// Protocol is what clients of a listener speak. Ports of different protocols are independent.
type Protocol int

// The protocols.
const (
	ProtocolTCP Protocol = iota
	ProtocolUDP
)

func (p Protocol) String() string {
	if p == ProtocolUDP {
		return "udp"
	}
	return "tcp"
}

// Wire returns the protocol as the contract names it.
func (p Protocol) Wire() dataplanev1.TransportProtocol {
	if p == ProtocolUDP {
		return dataplanev1.TransportProtocol_TRANSPORT_PROTOCOL_UDP
	}
	return dataplanev1.TransportProtocol_TRANSPORT_PROTOCOL_TCP
}

// ProtocolOf is the protocol that the contract names. It is false for one that this agent does not know.
func ProtocolOf(wire dataplanev1.TransportProtocol) (Protocol, bool) {
	for _, known := range []Protocol{ProtocolTCP, ProtocolUDP} {
		if known.Wire() == wire {
			return known, true
		}
	}
	return ProtocolTCP, false
}
