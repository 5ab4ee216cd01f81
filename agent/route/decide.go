package route

import (
	"cmp"
	"maps"
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
	Services        []string // uuids of the virtual services behind it
	Leaving         bool     // routers should prefer any other path (RFC 8326)
}

// facts are everything that the decision depends on.
type facts struct {
	held    *plan.Plan // acknowledged by the data plane; nil: none yet
	before  *plan.Plan // that the earlier agent held; nil: none
	coming  *plan.Plan // about to be given to the data plane, or given and not yet answered; nil: none
	alive   bool       // the data plane's heart beats
	up      map[plan.Member]bool
	absent  map[netip.Addr]bool // VIPs that could not be added to their interface
	leaving departure
	own     []netip.Addr // that it speaks to routers from
	beats   int          // whether it has held a Plan, and has an address
}

// spoken is the Plan that names the routers. Sessions take time, so the first ones may begin while the data plane
// applies its first Plan.
func (f facts) spoken() *plan.Plan { return cmp.Or(f.held, f.coming, f.before) }

// hold takes a Plan that the data plane has acknowledged. The data plane has forgotten servers that are not in it: if
// one comes back with a later Plan, it is down until it is checked.
func (f *facts) hold(held *plan.Plan) {
	if f.held != nil && slices.Equal(held.Pools, f.held.Pools) { // by their pointers
		f.held = held
		return
	}
	up := map[plan.Member]bool{}
	for _, pool := range held.Pools {
		for _, each := range pool.Servers {
			server := plan.Member{Pool: pool.UUID, Server: each.ID}
			up[server] = f.up[server]
		}
	}
	f.held, f.up = held, up
}

// departure says how far an engine has come in its shutdown.
type departure uint8

const (
	stays    departure = iota
	leaving            // routers should use its routes only if there are no others
	gone               // it has none
	replaced           // its data plane keeps serving, and routers keep its routes for the next agent
)

// decide says which routes this engine announces, sorted by prefix. It announces a VIP while all of this holds: the
// data plane is alive and has acknowledged the listener; a virtual service behind it is up and takes clients; no
// pending Plan removes it. If several virtual services share the address, one is enough. A new engine waits until the
// Plans of the other engines name it, because it must be able to pass on packets of the clients that it draws from
// them.
func decide(f facts) []Route {
	if !f.alive || f.leaving == gone {
		return nil
	}
	staying, isKnown := drawing(f.coming), f.known()
	routes := map[netip.Prefix]Route{}
	for _, said := range f.held.Advertised() {
		if !said.Draws || !said.WhileDown && !said.IsUp(f.up) || !isKnown(said.Service) {
			continue
		}
		for _, vip := range said.VIPs {
			if f.coming != nil && !staying[draw{said.Service, vip.Address}] || f.absent[vip.Address] {
				continue
			}
			merge(routes, Route{
				Prefix: netip.PrefixFrom(vip.Address, vip.Address.BitLen()), Communities: vip.Communities,
				LocalPreference: said.LocalPreference, ASPathPrepend: said.ASPathPrepend,
				Labels: said.PeerLabels, Services: []string{said.Service}, Leaving: f.leaving == leaving,
			})
		}
	}
	return slices.SortedFunc(maps.Values(routes), func(a, b Route) int {
		return a.Prefix.Addr().Compare(b.Prefix.Addr())
	})
}

// draw is a virtual service that draws clients to an address.
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

// merge adds a route. Virtual services that share an address share its attributes (those of their VsVip).
func merge(routes map[netip.Prefix]Route, added Route) {
	merged, shared := routes[added.Prefix]
	if !shared {
		merged = added
	} else {
		merged.Services = append(merged.Services, added.Services...)
	}
	routes[added.Prefix] = merged
}

// knownBeats limits how long a new engine waits until the controller names it to others.
const knownBeats = 10

// known tells whether the other engines of a virtual service know this engine, according to the Plans sent together
// with its own.
func (f *facts) known() func(service string) bool {
	if len(f.own) == 0 || f.beats >= knownBeats {
		return func(string) bool { return true }
	}
	services := map[string]bool{}
	for _, plan := range []*plan.Plan{f.held, f.coming} {
		for _, said := range plan.Advertised() {
			if slices.Contains(said.Engines, f.own[0]) {
				services[said.Service] = true
			}
		}
	}
	return func(service string) bool { return services[service] }
}

// isFor tells whether a peer gets the route.
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
