package route

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

// service is a virtual service of a Plan: its address, the servers of its pool, and how it is advertised.
type service struct {
	uuid      string
	addresses []string
	pool      []string // servers; one that begins with - is disabled; nil: no pool
	whileDown bool
	minPools  int          // that must be up, of its pool and those of counted
	counted   []string     // other services, whose pools count
	idle      bool         // not to draw clients
	silent    bool         // not advertised
	engines   []netip.Addr // that serve it
}

func planOf(services ...service) *plan.Plan {
	made := &plan.Plan{Revision: 1}
	for _, s := range services {
		said := plan.Advertisement{Demand: plan.Demand{Service: s.uuid}, Draws: !s.idle, WhileDown: s.whileDown,
			Engines: s.engines}
		if s.pool != nil {
			pool := &plan.Pool{UUID: "pool-" + s.uuid, MinServers: 1}
			for _, id := range s.pool {
				name, disabled := strings.CutPrefix(id, "-")
				pool.Servers = append(pool.Servers, plan.Server{ID: name, Enabled: !disabled})
			}
			said.Pools = []*plan.Pool{pool}
			made.Pools = append(made.Pools, pool)
		}
		for _, address := range s.addresses {
			said.VIPs = append(said.VIPs, plan.VIP{Address: netip.MustParseAddr(address)})
		}
		if s.minPools > 0 {
			said.MinPoolsUp, said.Counted = s.minPools, slices.Clone(said.Pools)
			for _, pool := range made.Pools {
				if slices.Contains(s.counted, strings.TrimPrefix(pool.UUID, "pool-")) {
					said.Counted = append(said.Counted, pool)
				}
			}
		}
		if !s.silent {
			made.Advertisements = append(made.Advertisements, said)
		}
	}
	return made
}

// upIn are servers that are up, as "service/server".
func upIn(names ...string) map[plan.Member]bool {
	up := map[plan.Member]bool{}
	for _, name := range names {
		service, id, _ := strings.Cut(name, "/")
		up[plan.Member{Pool: "pool-" + service, Server: id}] = true
	}
	return up
}

func TestAnnouncesWhatIsServedAndUp(t *testing.T) {
	web := service{uuid: "web", addresses: []string{"192.0.2.1"}, pool: []string{"a", "b"}}
	bare := service{uuid: "bare", addresses: []string{"192.0.2.2", "2001:db8::2"}}
	here, others := []netip.Addr{netip.MustParseAddr("10.1.0.11")}, []netip.Addr{netip.MustParseAddr("10.1.0.12")}
	named := service{uuid: "web", addresses: []string{"192.0.2.1"}, engines: append(here, others...)}
	unnamed := service{uuid: "web", addresses: []string{"192.0.2.1"}, engines: others}
	with := func(s service, change func(*service)) service {
		change(&s)
		return s
	}
	other := service{uuid: "other", pool: []string{"c"}, silent: true}
	of2 := func(least int) service {
		return with(web, func(s *service) { s.minPools, s.counted = least, []string{"other"} })
	}
	alive := func(f facts) facts {
		f.alive = true
		return f
	}
	for name, c := range map[string]struct {
		facts
		want string
	}{
		"no Plan yet": {alive(facts{}), ""},
		"a service without a pool": {alive(facts{held: planOf(bare)}),
			"192.0.2.2/32 (bare), 2001:db8::2/128 (bare)"},
		"one server of the pool is up":   {alive(facts{held: planOf(web), up: upIn("web/b")}), "192.0.2.1/32 (web)"},
		"no server of the pool is up":    {alive(facts{held: planOf(web)}), ""},
		"servers of another pool are up": {alive(facts{held: planOf(web), up: upIn("bare/a")}), ""},
		"down, but advertised while down": {alive(facts{held: planOf(with(web, func(s *service) {
			s.whileDown = true
		}))}), "192.0.2.1/32 (web)"},
		"the server that is up is disabled": {
			alive(facts{held: planOf(with(web, func(s *service) { s.pool = []string{"-a"} })), up: upIn("web/a")}), ""},
		"one of two pools is up, and one is enough": {alive(facts{held: planOf(other, of2(1)), up: upIn("web/a")}),
			"192.0.2.1/32 (web)"},
		"one of two pools is up, and both must be": {alive(facts{held: planOf(other, of2(2)), up: upIn("web/a")}), ""},
		"both of two pools are up": {alive(facts{held: planOf(other, of2(2)), up: upIn("web/a", "other/c")}),
			"192.0.2.1/32 (web)"},
		"pools of rules are up, but not its own": {alive(facts{held: planOf(other, of2(1)), up: upIn("other/c")}), ""},
		"the pool is empty": {alive(facts{held: planOf(with(web, func(s *service) {
			s.pool = []string{}
		}))}), ""},
		"not advertised":          {alive(facts{held: planOf(with(bare, func(s *service) { s.silent = true }))}), ""},
		"it stands by, or drains": {alive(facts{held: planOf(with(bare, func(s *service) { s.idle = true }))}), ""},

		"the data plane is dead": {facts{held: planOf(bare)}, ""},
		"dead, and to be advertised while down": {facts{held: planOf(with(web, func(s *service) {
			s.whileDown = true
		}))}, ""},
		"not acknowledged yet": {alive(facts{held: planOf(), coming: planOf(bare)}), ""},
		"a Plan comes that keeps it": {alive(facts{held: planOf(bare), coming: planOf(bare, web)}),
			"192.0.2.2/32 (bare), 2001:db8::2/128 (bare)"},
		"a Plan comes without it": {alive(facts{held: planOf(bare), coming: planOf()}), ""},
		"a Plan comes with another address": {
			alive(facts{held: planOf(bare), coming: planOf(with(bare, func(s *service) {
				s.addresses = []string{"192.0.2.9"}
			}))}), ""},
		"a Plan comes with one address less": {
			alive(facts{held: planOf(bare), coming: planOf(with(bare, func(s *service) {
				s.addresses = s.addresses[:1]
			}))}), "192.0.2.2/32 (bare)"},
		"a Plan comes that has another service at the address": {
			alive(facts{held: planOf(bare), coming: planOf(with(bare, func(s *service) { s.uuid = "too" }))}), ""},
		"a Plan comes that drains it": {
			alive(facts{held: planOf(bare), coming: planOf(with(bare, func(s *service) { s.idle = true }))}), ""},
		"its address is on no interface": {
			alive(facts{held: planOf(bare), absent: map[netip.Addr]bool{netip.MustParseAddr("192.0.2.2"): true}}),
			"2001:db8::2/128 (bare)"},
		"no Plan names the engine":  {alive(facts{held: planOf(unnamed), own: here}), ""},
		"the Plan names the engine": {alive(facts{held: planOf(named), own: here}), "192.0.2.1/32 (web)"},
		"a Plan comes that names the engine": {alive(facts{held: planOf(unnamed), coming: planOf(named), own: here}),
			"192.0.2.1/32 (web)"},
		"no Plan named the engine for so long": {alive(facts{held: planOf(unnamed), own: here, beats: knownBeats}),
			"192.0.2.1/32 (web)"},
		"the engine is leaving": {alive(facts{held: planOf(bare), leaving: leaving}),
			"192.0.2.2/32 (bare) leaving, 2001:db8::2/128 (bare) leaving"},
		"the engine has left": {alive(facts{held: planOf(bare), leaving: gone}), ""},

		"two at one address": {
			alive(facts{held: planOf(bare, with(bare, func(s *service) {
				s.uuid = "too"
			}))}), "192.0.2.2/32 (bare too), 2001:db8::2/128 (bare too)"},
		"two at one address, one down": {
			alive(facts{held: planOf(with(web, func(s *service) {
				s.addresses = bare.addresses
			}), bare)}), "192.0.2.2/32 (bare), 2001:db8::2/128 (bare)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, route := range decide(c.facts) {
				text := route.String()
				if route.Leaving {
					text += " leaving"
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("announces %q, want %q", got, c.want)
			}
		})
	}
}

func TestRouteIsForPeersOfItsFamilyAndLabel(t *testing.T) {
	plain := Route{Prefix: netip.MustParsePrefix("192.0.2.1/32")}
	labelled := plain
	labelled.Labels = []string{"left", "middle"}
	for name, c := range map[string]struct {
		route Route
		peer  plan.Peer
		want  bool
	}{
		"all": {plain, plan.Peer{Address: netip.MustParseAddr("10.0.0.1"), AdvertisesVIPs: true,
			Label: "right"}, true},
		"other family":  {plain, plan.Peer{Address: netip.MustParseAddr("2001:db8::1"), AdvertisesVIPs: true}, false},
		"hears no VIPs": {plain, plan.Peer{Address: netip.MustParseAddr("10.0.0.1")}, false},
		"its label": {labelled, plan.Peer{Address: netip.MustParseAddr("10.0.0.1"), AdvertisesVIPs: true,
			Label: "left"}, true},
		"another label": {labelled, plan.Peer{Address: netip.MustParseAddr("10.0.0.1"), AdvertisesVIPs: true,
			Label: "right"}, false},
		"label unspoken": {labelled, plan.Peer{Address: netip.MustParseAddr("10.0.0.1"), AdvertisesVIPs: true}, false},
	} {
		if got := c.route.isFor(&c.peer); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
