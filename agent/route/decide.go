package route

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Route is one address of a virtual service as this engine announces it.
type Route struct {
	Prefix          netip.Prefix
	Communities     []uint32
	LocalPreference uint32 // 0: not set
	ASPathPrepend   uint32
	Labels          []string // of the peers that it is for; empty: all
	Services        []string // uuids of the virtual services that it leads to
	Leaving         bool     // routers shall prefer any other way (RFC 8326)
}

// facts are all that the decision goes by.
type facts struct {
	held    *enginev1.Plan // acknowledged by the data plane; nil: none yet
	before  *enginev1.Plan // that the agent before this one held; nil: none
	coming  *enginev1.Plan // to be given to the data plane, or given and not answered; nil: none
	alive   bool           // the data plane's heart beats
	up      map[member]bool
	absent  map[netip.Addr]bool // VIPs that could not be put on their interface
	leaving departure
	own     []netip.Addr // that it speaks to routers from
	beats   int          // that it has held a Plan, and an address to be known by
}

// spoken is the Plan that says which routers to speak to. Sessions take their time: the first may begin while the data
// plane takes up its first Plan.
func (f facts) spoken() *enginev1.Plan { return cmp.Or(f.held, f.coming, f.before) }

// hold goes by a Plan that the data plane has acknowledged. What is not in it, the data plane has forgotten: a server that comes
// again with the next one is down until it is found up.
func (f *facts) hold(plan *enginev1.Plan) {
	up := map[member]bool{}
	for _, resource := range plan.GetResources() {
		for _, each := range resource.GetPool().GetPool().GetServers() {
			server := member{resource.GetUuid(), each.GetId()}
			up[server] = f.up[server]
		}
	}
	f.held, f.up = plan, up
}

// departure is how far an engine that ends has taken leave.
type departure uint8

const (
	stays    departure = iota
	leaving            // its routes are the last that routers shall use
	gone               // it has none
	replaced           // its data plane serves on, and the next agent speaks for it: what routers know stays
)

type member struct{ pool, id string }

// decide says which routes this engine announces, sorted by prefix. A VIP is announced while the data plane is alive and
// has acknowledged its listener, a virtual service behind it is up and is to take clients, and no Plan that comes takes
// that away. Of several virtual services at one address, one is enough. An engine that begins waits until a Plan names it,
// and others with it: what clients it draws from them, it will have to pass on.
func decide(f facts) []Route {
	if !f.alive || f.leaving == gone {
		return nil
	}
	wanted, staying := drawing(f.held), drawing(f.coming)
	var routes []Route
	for _, resource := range f.held.GetResources() {
		said := resource.GetAdvertisement()
		service := said.GetVirtualServiceUuid()
		if !said.GetWhileDown() && !f.isUp(service) || !f.isKnown(service) {
			continue
		}
		for _, from := range said.GetRoutes() {
			address, err := netip.ParseAddr(from.GetAddress())
			draws := draw{service, address}
			if err != nil || !wanted[draws] || f.coming != nil && !staying[draws] || f.absent[address] {
				continue
			}
			routes = merge(routes, Route{
				Prefix: netip.PrefixFrom(address, address.BitLen()), Communities: from.GetCommunities(),
				LocalPreference: said.GetLocalPreference(), ASPathPrepend: said.GetAsPathPrepend(),
				Labels: said.GetPeerLabels(), Services: []string{service}, Leaving: f.leaving == leaving,
			})
		}
	}
	slices.SortFunc(routes, func(a, b Route) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	return routes
}

// draw is a virtual service that clients come to at an address.
type draw struct {
	service string
	address netip.Addr
}

// drawing is what a Plan has the engine draw clients to.
func drawing(plan *enginev1.Plan) map[draw]bool {
	serving, draws := map[string]bool{}, map[draw]bool{}
	for _, resource := range plan.GetResources() {
		if service := resource.GetVirtualService(); service != nil && service.GetDuty() == dataplanev1.Duty_DUTY_SERVE {
			serving[service.GetUuid()] = true
		}
	}
	for _, resource := range plan.GetResources() {
		service := resource.GetAdvertisement().GetVirtualServiceUuid()
		for _, from := range resource.GetAdvertisement().GetRoutes() {
			if address, err := netip.ParseAddr(from.GetAddress()); err == nil && serving[service] {
				draws[draw{service, address}] = true
			}
		}
	}
	return draws
}

// merge adds a route. Where several virtual services share an address, they share what is said of it (their VsVip's).
func merge(routes []Route, added Route) []Route {
	at := slices.IndexFunc(routes, func(r Route) bool { return r.Prefix == added.Prefix })
	if at < 0 {
		return append(routes, added)
	}
	routes[at].Services = append(routes[at].Services, added.Services...)
	return routes
}

// knownBeats is how long an engine that begins waits at most until the controller names it.
const knownBeats = 10

// isKnown tells whether the other engines of a virtual service hear of this one, by the Plans that came with its own.
func (f *facts) isKnown(service string) bool {
	if len(f.own) == 0 || f.beats >= knownBeats {
		return true
	}
	for _, plan := range []*enginev1.Plan{f.held, f.coming} {
		for _, resource := range plan.GetResources() {
			said := resource.GetAdvertisement()
			if said.GetVirtualServiceUuid() == service && slices.Contains(said.GetNextHops(), f.own[0].String()) {
				return true
			}
		}
	}
	return false
}

// isUp tells whether a virtual service has somebody to serve its clients: a pool with a server that is up, or no pool.
func (f *facts) isUp(service string) bool {
	pool := ""
	for _, resource := range f.held.GetResources() {
		if resource.GetUuid() == service {
			pool = resource.GetVirtualService().GetPoolUuid()
		}
	}
	if pool == "" {
		return true
	}
	for _, resource := range f.held.GetResources() {
		if resource.GetUuid() != pool {
			continue
		}
		for _, each := range resource.GetPool().GetPool().GetServers() {
			if each.GetEnabled() && f.up[member{pool, each.GetId()}] {
				return true
			}
		}
	}
	return false
}

// isFor tells whether a peer is told of the route.
func (r *Route) isFor(peer *enginev1.BgpPeer) bool {
	address, err := netip.ParseAddr(peer.GetAddress())
	sameFamily := err == nil && address.Is4() == r.Prefix.Addr().Is4()
	return sameFamily && peer.GetAdvertiseVips() && (len(r.Labels) == 0 || slices.Contains(r.Labels, peer.GetLabel()))
}

// same tells whether two routes look the same to routers.
func (r *Route) same(other *Route) bool {
	return r.Prefix == other.Prefix && slices.Equal(r.Communities, other.Communities) && r.LocalPreference == other.LocalPreference &&
		r.ASPathPrepend == other.ASPathPrepend && slices.Equal(r.Labels, other.Labels) && r.Leaving == other.Leaving
}

// vipsOf are the addresses that a Plan advertises, whether they are announced now or not.
func vipsOf(plan *enginev1.Plan) []netip.Addr {
	var all []netip.Addr
	for _, resource := range plan.GetResources() {
		for _, from := range resource.GetAdvertisement().GetRoutes() {
			if address, err := netip.ParseAddr(from.GetAddress()); err == nil && !slices.Contains(all, address) {
				all = append(all, address)
			}
		}
	}
	return all
}

// routerOf is how a Plan speaks BGP; nil: not at all.
func routerOf(plan *enginev1.Plan) *enginev1.BgpRouter {
	for _, resource := range plan.GetResources() {
		if router := resource.GetBgpRouter(); router != nil {
			return router
		}
	}
	return nil
}

// String is what logs say: "192.0.2.1/32 (vs-1 vs-2)".
func (r *Route) String() string {
	return r.Prefix.String() + " (" + strings.Join(r.Services, " ") + ")"
}
