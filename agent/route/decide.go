package route

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/agent/plan"
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
	held    *plan.Plan // acknowledged by the data plane; nil: none yet
	before  *plan.Plan // that the agent before this one held; nil: none
	coming  *plan.Plan // to be given to the data plane, or given and not answered; nil: none
	alive   bool       // the data plane's heart beats
	up      map[plan.Member]bool
	absent  map[netip.Addr]bool // VIPs that could not be put on their interface
	leaving departure
	own     []netip.Addr // that it speaks to routers from
	beats   int          // that it has held a Plan, and an address to be known by
}

// spoken is the Plan that says which routers to speak to. Sessions take their time: the first may begin while the data
// plane takes up its first Plan.
func (f facts) spoken() *plan.Plan { return cmp.Or(f.held, f.coming, f.before) }

// hold goes by a Plan that the data plane has acknowledged. What is not in it, the data plane has forgotten: a server
// that comes again with the next one is down until it is found up.
func (f *facts) hold(held *plan.Plan) {
	up := map[plan.Member]bool{}
	for _, pool := range held.Pools {
		for _, each := range pool.Servers {
			server := plan.Member{Pool: pool.UUID, Server: each.ID}
			up[server] = f.up[server]
		}
	}
	f.held, f.up = held, up
}

// departure is how far an engine that ends has taken leave.
type departure uint8

const (
	stays    departure = iota
	leaving            // its routes are the last that routers shall use
	gone               // it has none
	replaced           // its data plane serves on, and the next agent speaks for it: what routers know stays
)

// decide says which routes this engine announces, sorted by prefix. A VIP is announced while the data plane is alive
// and has acknowledged its listener, a virtual service behind it is up and is to take clients, and no Plan that comes
// takes that away. Of several virtual services at one address, one is enough. An engine that begins waits until a Plan
// names it, and others with it: what clients it draws from them, it will have to pass on.
func decide(f facts) []Route {
	if !f.alive || f.leaving == gone {
		return nil
	}
	staying := drawing(f.coming)
	var routes []Route
	for _, said := range f.held.Advertised() {
		if !said.Draws || !said.WhileDown && !f.isUp(said.Pool) || !f.isKnown(said.Service) {
			continue
		}
		for _, vip := range said.VIPs {
			if f.coming != nil && !staying[draw{said.Service, vip.Address}] || f.absent[vip.Address] {
				continue
			}
			routes = merge(routes, Route{
				Prefix: netip.PrefixFrom(vip.Address, vip.Address.BitLen()), Communities: vip.Communities,
				LocalPreference: said.LocalPreference, ASPathPrepend: said.ASPathPrepend,
				Labels: said.PeerLabels, Services: []string{said.Service}, Leaving: f.leaving == leaving,
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
func drawing(plan *plan.Plan) map[draw]bool {
	draws := map[draw]bool{}
	for _, said := range plan.Advertised() {
		for _, vip := range said.VIPs {
			if said.Draws {
				draws[draw{said.Service, vip.Address}] = true
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
	for _, plan := range []*plan.Plan{f.held, f.coming} {
		for _, said := range plan.Advertised() {
			if said.Service == service && slices.Contains(said.Engines, f.own[0]) {
				return true
			}
		}
	}
	return false
}

// isUp tells whether a virtual service has somebody to serve its clients: a pool with a server that is up, or no pool
// (nil).
func (f *facts) isUp(pool *plan.Pool) bool {
	if pool == nil {
		return true
	}
	return slices.ContainsFunc(pool.Servers, func(each plan.Server) bool {
		return each.Enabled && f.up[plan.Member{Pool: pool.UUID, Server: each.ID}]
	})
}

// isFor tells whether a peer is told of the route.
func (r *Route) isFor(peer *plan.Peer) bool {
	sameFamily := peer.Address.Is4() == r.Prefix.Addr().Is4()
	return sameFamily && peer.AdvertisesVIPs && (len(r.Labels) == 0 || slices.Contains(r.Labels, peer.Label))
}

// same tells whether two routes look the same to routers.
func (r *Route) same(other *Route) bool {
	return r.Prefix == other.Prefix && slices.Equal(r.Communities, other.Communities) &&
		r.LocalPreference == other.LocalPreference &&
		r.ASPathPrepend == other.ASPathPrepend && slices.Equal(r.Labels, other.Labels) && r.Leaving == other.Leaving
}

// String is what logs say: "192.0.2.1/32 (vs-1 vs-2)".
func (r *Route) String() string {
	return r.Prefix.String() + " (" + strings.Join(r.Services, " ") + ")"
}
