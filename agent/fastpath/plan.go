package fastpath

import (
	"encoding/binary"
	"net/netip"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/fastpath"
)

// wish is what Plans ask of the fast path.
type wish struct {
	own  netip.Addr                  // of this engine; invalid: nobody reaches it
	vips map[netip.Addr][]netip.Addr // those that other engines serve, too, with their addresses, sorted
	// advertised are all VIPs: other engines may come any time.
	advertised map[netip.Addr]bool
}

// wishOf is what any of the Plans asks for, on the engine at an address. Other engines are those at addresses of its family.
func wishOf(own netip.Addr, plans ...*enginev1.Plan) wish {
	w := wish{own: own, vips: map[netip.Addr][]netip.Addr{}, advertised: map[netip.Addr]bool{}}
	for _, plan := range plans {
		for _, resource := range plan.GetResources() {
			w.add(resource.GetAdvertisement())
		}
	}
	return w
}

func (w *wish) add(advertisement *enginev1.Advertisement) {
	var others []netip.Addr
	for _, text := range advertisement.GetNextHops() {
		if engine, err := netip.ParseAddr(text); err == nil && engine.Is4() == w.own.Is4() && engine != w.own {
			others = append(others, engine)
		}
	}
	if !w.own.IsValid() {
		return
	}
	for _, route := range advertisement.GetRoutes() {
		vip, err := netip.ParseAddr(route.GetAddress())
		if err != nil {
			continue // plan wrote it
		}
		w.advertised[vip] = true
		if len(others) > 0 {
			w.vips[vip] = merged(w.vips[vip], others)
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
	var all []netip.Addr
	for _, engines := range w.vips {
		all = append(all, engines...)
	}
	return merged(all, nil)
}

// headersOf are the bytes of IP and TCP before a segment to an address.
func headersOf(address netip.Addr) int {
	if address.Is4() {
		return 20 + 20
	}
	return 40 + 20
}

// overhead is what comes before a packet that another engine passes on to the own address.
func (w *wish) overhead() int {
	if w.own.Is4() {
		return fastpath.DetourOverhead4
	}
	return fastpath.DetourOverhead6
}

// packed is an address as the programs have it.
func packed(address netip.Addr) (in fastpath.DetourAddress) {
	bytes := address.As16()
	for i := range in.Word {
		in.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	return in
}
