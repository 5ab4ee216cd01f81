package place

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// cutOffForAny returns the engines that are cut off for any set of the group, one engine and one set after the other.
func (d *decider) cutOffForAny(group *model.Group) map[string]bool {
	cutOff := map[string]bool{}
	for _, engine := range group.Engines {
		for _, set := range d.kept.all() {
			s := d.service(set)
			if s.group != group || !takesTraffic(s.vs) || !s.hasNoRouter(engine.UUID) || !s.anotherIsReached() {
				continue
			}
			cutOff[engine.UUID] = true
		}
	}
	return cutOff
}

func TestUnreachableEnginesAreThoseThatAreCutOffForAVirtualService(t *testing.T) {
	found, left := 0, 0
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		h := newHistory(t, random)
		for range 60 {
			h.happen(t)
			h.editService(h.advertise)
			h.editEngine(h.converse)
			quick, each := new(Placer).begin(h.in), new(Placer).begin(h.in)
			got, want := quick.unreachable(h.in.Model.Groups[0]), each.cutOffForAny(h.in.Model.Groups[0])
			if !maps.Equal(got, want) || !quick.out.Again.Equal(each.out.Again) {
				t.Fatalf("unreachable are %v, want %v; again at %v, want %v", got, want, quick.out.Again,
					each.out.Again)
			}
			if len(want) > 0 {
				found++
			}
			if len(want) == 0 && !each.out.Again.IsZero() {
				left++
			}
		}
	})
	if found < 500 || left < 500 {
		t.Errorf("engines were unreachable %d times, and about to be %d times", found, left)
	}
}

// anyRouters returns some of two routers.
func (h *history) anyRouters() []netip.Addr {
	both := []netip.Addr{router, router.Next()}
	return [][]netip.Addr{both[:1], both[1:], both, {both[1], both[0]}}[h.IntN(4)]
}

// advertise advertises a virtual service to some routers.
func (h *history) advertise(vs *model.VirtualService) {
	vs.EnableRHI, vs.VrfContext = h.IntN(3) > 0, &kinds.VrfContext{BGP: &kinds.BGPProfile{}}
	for _, address := range h.anyRouters() {
		vs.VrfContext.BGP.Peers = append(vs.VrfContext.BGP.Peers, kinds.BGPPeer{
			PeerIP: &kinds.IPAddr{Addr: address.String(), Type: "V4"}, AdvertiseVip: true,
		})
	}
}

// converse changes sessions of an engine with routers.
func (h *history) converse(e *Engine) {
	e.Sessions = maps.Clone(e.Sessions)
	for _, router := range h.anyRouters() {
		e.Sessions[router] = Session{Up: h.IntN(2) == 0, Since: h.in.Now}
	}
}

func TestEnginesThatLoseTheirRouterOneAfterTheOtherAreAbsentOneAfterTheOther(t *testing.T) {
	s := newStory()
	s.define(t, "group", []string{"web", "bgp_peer_monitor_failover_enabled=true"})
	for _, engine := range []string{"e1", "e2", "e3"} {
		s.define(t, "engine", []string{engine})
	}
	s.define(t, "service", []string{"shop", "enable_rhi=true"})
	s.settle()
	s.now = s.now.Add(time.Minute)
	for engine, ago := range map[string]time.Duration{"e3": lostAfter, "e2": lostAfter - time.Second} {
		s.engine(engine, func(e *Engine) {
			e.Sessions = map[netip.Addr]Session{router: {Since: s.now.Add(-ago)}}
		})
	}
	decision := Decide(s.input())
	need := decision.Needs[0]
	if !slices.Equal(need.Present, []string{"e1", "e2"}) || !slices.Equal(need.Idle, []string{"e3"}) ||
		!decision.Again.Equal(s.now.Add(time.Second)) {
		t.Errorf("the need is %+v, the next decision at %v", need, decision.Again)
	}
}
