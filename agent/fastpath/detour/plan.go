package detour

import (
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/agent/plan"
)

// segmentMax is the longest that the kernel takes for TCP_MAXSEG.
const segmentMax = 32767

// siblings are the addresses of other engines, by the VIP that they serve.
type siblings map[netip.Addr][]netip.Addr

// wish is what Plans ask of the fast path.
type wish struct {
	addresses []netip.Addr // of this engine; others send to the first one; empty: nobody sends to it
	// VIPs that other engines serve too, with the addresses of these engines, sorted
	vips siblings
	// advertised are all VIPs; other engines may get them at any time.
	advertised map[netip.Addr]bool
}

// wishOf collects what Plans need on an engine with these addresses. Other engines are taken by their address in the
// family of the first one.
func wishOf(addresses []netip.Addr, plans ...*plan.Plan) wish {
	w := wish{addresses: addresses, vips: siblings{}, advertised: map[netip.Addr]bool{}}
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
	for _, vip := range said.VIPs {
		w.share(vip.Address, said.Engines)
	}
}

// keep adds what programs of an earlier agent know.
func (w *wish) keep(earlier siblings) {
	if len(w.addresses) == 0 {
		return
	}
	for vip, engines := range earlier {
		w.share(vip, engines)
	}
}

// share adds that these engines serve a VIP.
func (w *wish) share(vip netip.Addr, engines []netip.Addr) {
	w.advertised[vip] = true
	var others []netip.Addr
	for _, engine := range engines {
		if engine.Is4() == w.own().Is4() && engine != w.own() {
			others = append(others, engine)
		}
	}
	if len(others) > 0 {
		w.vips[vip] = merged(w.vips[vip], others)
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
