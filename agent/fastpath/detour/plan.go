package detour

import (
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/agent/plan"
)

// segmentMax is the longest that the kernel takes for TCP_MAXSEG.
const segmentMax = 32767

// wish is what Plans ask of the fast path.
type wish struct {
	addresses []netip.Addr // of this engine; others send to the first one; empty: nobody sends to it
	// VIPs that other engines serve too, with the addresses of these engines, sorted
	vips map[netip.Addr][]netip.Addr
	// advertised are all VIPs; other engines may get them at any time.
	advertised map[netip.Addr]bool
}

// wishOf collects what Plans need on an engine with these addresses. Other engines are taken by their address in the
// family of the first one.
func wishOf(addresses []netip.Addr, plans ...*plan.Plan) wish {
	w := wish{addresses: addresses, vips: map[netip.Addr][]netip.Addr{}, advertised: map[netip.Addr]bool{}}
	if len(addresses) == 0 {
		return w
	}
	for _, plan := range plans {
		for _, said := range plan.Advertised() {
			w.add(said)
		}
	}
	return w
}

// own is the address at which others reach this engine; invalid: there is none.
func (w *wish) own() netip.Addr {
	if len(w.addresses) == 0 {
		return netip.Addr{}
	}
	return w.addresses[0]
}

func (w *wish) add(said plan.Advertisement) {
	var others []netip.Addr
	for _, engine := range said.Engines {
		if engine.Is4() == w.own().Is4() && engine != w.own() {
			others = append(others, engine)
		}
	}
	for _, vip := range said.VIPs {
		w.advertised[vip.Address] = true
		if len(others) > 0 {
			w.vips[vip.Address] = merged(w.vips[vip.Address], others)
		}
	}
}

func merged(a, b []netip.Addr) []netip.Addr {
	all := slices.Concat(a, b)
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// engines are all others, sorted.
func (w *wish) engines() []netip.Addr {
	known := map[netip.Addr]bool{}
	var all []netip.Addr
	for _, engines := range w.vips {
		for _, engine := range engines {
			if !known[engine] {
				known[engine] = true
				all = append(all, engine)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}

// headersOf is the length of the IP and TCP headers of a segment to an address.
func headersOf(address netip.Addr) int {
	if address.Is4() {
		return 20 + 20
	}
	return 40 + 20
}
