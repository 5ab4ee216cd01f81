package place

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// history is a story in which nothing changes in place, as in the controller.
type history struct {
	*rand.Rand
	in     Input
	orders Placer // accepts the orders
}

func newHistory(t *testing.T, random *rand.Rand) *history {
	mode := []string{"SHARED", "SHARED_PAIR", "LEGACY_ACTIVE_STANDBY"}[random.IntN(3)]
	s := anyStory(t, random, "ha_mode="+mode, fmt.Sprintf("max_vs_per_se=%d", 2+random.IntN(4)),
		fmt.Sprintf("max_se=%d", 2+random.IntN(8)), "bgp_peer_monitor_failover_enabled=true")
	for _, vs := range s.model.VirtualServices {
		s.set(t, vs.Name, []string{fmt.Sprintf("enable_rhi=%t", random.IntN(3) > 0)})
	}
	if random.IntN(2) == 0 {
		for _, engine := range s.model.Engines {
			s.set(t, engine.Name, []string{fmt.Sprintf("network=n%d", random.IntN(3))})
		}
	}
	return &history{Rand: random, in: s.input()}
}

// edit gives the next input another model.
func (h *history) edit(change func(m *model.Model)) {
	next := *h.in.Model
	next.Revision++
	change(&next)
	h.in.Model = &next
}

func (h *history) editService(change func(vs *model.VirtualService)) {
	h.edit(func(m *model.Model) {
		if len(m.VirtualServices) == 0 {
			return
		}
		m.VirtualServices = slices.Clone(m.VirtualServices)
		at := h.IntN(len(m.VirtualServices))
		vs := *m.VirtualServices[at]
		change(&vs)
		m.VirtualServices[at] = &vs
	})
}

// regroup makes new structs of the group, its engines, and all that refers to it.
func (h *history) regroup(change func(group *model.Group)) {
	h.edit(func(m *model.Model) {
		group := *m.Groups[0]
		group.Engines = nil
		for _, engine := range m.Groups[0].Engines {
			own := *engine
			own.Group, group.Engines = &group, append(group.Engines, &own)
		}
		change(&group)
		m.Groups, m.Engines = []*model.Group{&group}, group.Engines
		m.VirtualServices = slices.Clone(m.VirtualServices)
		for i, vs := range m.VirtualServices {
			own := *vs
			own.Group, m.VirtualServices[i] = &group, &own
		}
	})
}

func (h *history) editEngine(change func(e *Engine)) {
	uuids := slices.Sorted(maps.Keys(h.in.Engines))
	uuid := uuids[h.IntN(len(uuids))]
	h.in.Engines = maps.Clone(h.in.Engines)
	engine := h.in.Engines[uuid]
	change(&engine)
	h.in.Engines[uuid] = engine
}

func (h *history) happen(t *testing.T) {
	switch h.IntN(18) {
	case 0:
		h.editService(func(vs *model.VirtualService) {
			vs.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(h.IntN(3))})}
		})
	case 1:
		h.editService(func(vs *model.VirtualService) { vs.Enabled = !vs.Enabled })
	case 2:
		h.editService(func(vs *model.VirtualService) { vs.Name += "'" })
	case 3:
		h.edit(func(m *model.Model) {
			if at := h.IntN(len(m.VirtualServices) + 1); at < len(m.VirtualServices) {
				m.VirtualServices = slices.Delete(slices.Clone(m.VirtualServices), at, at+1)
			}
		})
	case 4:
		h.edit(func(m *model.Model) {
			vs := &model.VirtualService{Group: m.Groups[0]}
			vs.UUID, vs.Enabled, vs.TrafficEnabled = fmt.Sprintf("00.%d", h.IntN(4)), true, true
			is := func(other *model.VirtualService) bool { return other.UUID >= vs.UUID }
			at := slices.IndexFunc(m.VirtualServices, is)
			if at < 0 {
				m.VirtualServices = append(slices.Clone(m.VirtualServices), vs)
			} else if m.VirtualServices[at].UUID != vs.UUID {
				m.VirtualServices = slices.Insert(slices.Clone(m.VirtualServices), at, vs)
			}
		})
	case 5:
		h.regroup(func(group *model.Group) { group.MinScaleoutPerVS = uint32(1 + h.IntN(3)) })
	case 6:
		h.regroup(func(group *model.Group) {
			group.Engines[h.IntN(len(group.Engines))].EnableState = []string{"SE_STATE_ENABLED", "SE_STATE_DISABLED",
				forced}[h.IntN(3)]
		})
	case 7:
		h.editEngine(func(e *Engine) {
			e.Up, e.Since = !e.Up, h.in.Now
			if e.Gathering = (time.Time{}); e.Up && h.IntN(2) == 0 {
				e.Gathering = h.in.Now
			}
		})
	case 8:
		h.editEngine(func(e *Engine) { e.Plan = []PlanState{Unsettled, Settled, Refused, Taken}[h.IntN(4)] })
	case 9:
		h.editEngine(func(e *Engine) {
			e.Sessions = map[netip.Addr]Session{router: {Up: h.IntN(2) == 0, Since: h.in.Now}}
		})
	case 10:
		h.editEngine(func(e *Engine) {
			h.editService(func(vs *model.VirtualService) {
				e.Holds = e.Holds.With(Holding{
					VirtualService: vs.UUID, Delivery: Delivery(h.IntN(4)), Duty: Duty(h.IntN(4)),
					Clients: Clients(h.IntN(3)), Since: h.in.Now,
				})
			})
		})
	case 11:
		h.order(t)
	case 12:
		h.in.Began = h.in.Now
	case 13:
		h.editEngine(func(e *Engine) { e.NextHop = netip.AddrFrom4([4]byte{10, 1, 0, byte(h.IntN(3))}) })
	case 14:
		h.editEngine(func(e *Engine) { e.Network = []string{"", "n0", "n1"}[h.IntN(3)] })
	default:
		h.in.Now = h.in.Now.Add(time.Duration(h.IntN(20)) * time.Second)
	}
}

// order checks that a Placer accepts an order in the same way, whether it has seen other inputs before or not.
func (h *history) order(t *testing.T) {
	if len(h.in.Model.VirtualServices) == 0 {
		return
	}
	vs := h.in.Model.VirtualServices[h.IntN(len(h.in.Model.VirtualServices))]
	verb := []Verb{DoScaleOut, DoScaleIn, DoMigrate, DoSwitchover}[h.IntN(4)]
	order := Order{Verb: verb, New: h.IntN(3) == 0}
	assignments, events, err := h.orders.Accept(h.in, vs, order)
	anew, happened, refusal := new(Placer).Accept(h.in, vs, order)
	if !reflect.DeepEqual(assignments, anew) || !reflect.DeepEqual(events, happened) ||
		!reflect.DeepEqual(err, refusal) {
		t.Fatalf("%+v: accepted with %+v %v %v, anew with %+v %v %v", order, assignments, events, err, anew, happened,
			refusal)
	}
	if err == nil {
		h.in.Before = h.in.Before.With(assignments)
	}
}

// obey makes engines that are up report the duties that they should have.
func (h *history) obey() {
	h.in.Engines = maps.Clone(h.in.Engines)
	for uuid, engine := range h.in.Engines {
		if !engine.Up {
			continue
		}
		engine.Plan, engine.Told = max(engine.Plan, Taken), true
		edits := map[string]*Holding{}
		for _, a := range h.in.Before {
			if seat := a.seat(uuid); seat != nil && engine.Holds.Of(a.VirtualService).Duty != seat.Duty() {
				clients := map[Duty]Clients{Serve: Led, Drain: Idle}[seat.Duty()]
				edits[a.VirtualService] = &Holding{a.VirtualService, Current, seat.Duty(), h.in.Now, clients}
			}
		}
		engine.Holds = engine.Holds.Edit(edits)
		h.in.Engines[uuid] = engine
	}
}

func TestWhatRestsWouldBeDecidedAsItIs(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		h, kept := newHistory(t, random), &Placer{}
		for step := range 100 {
			h.happen(t)
			if h.IntN(3) == 0 {
				h.obey()
			}
			again, whole := kept.Decide(h.in), Decide(h.in)
			if !reflect.DeepEqual(again, whole) {
				t.Fatalf("step %d: decided again\n%+v\ndecided as a whole\n%+v", step, again, whole)
			}
			if h.IntN(4) > 0 { // otherwise the write has failed
				h.in.Before = h.in.Before.With(again.Changed, again.Gone...)
			}
		}
	})
}

func TestOnlyWhatDoesNotRestIsDecidedUpon(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	h, kept := &history{Rand: random, in: anyStory(t, random).input()}, &Placer{}
	for range 20 {
		decision := kept.Decide(h.in)
		h.in.Before = h.in.Before.With(decision.Changed, decision.Gone...)
		h.obey()
	}
	if kept.Decide(h.in); len(kept.awake) > 0 || len(kept.sets) < 2 {
		t.Fatalf("%d of %d do not rest", len(kept.awake), len(kept.sets))
	}
	h.editService(func(vs *model.VirtualService) { vs.Name += "'" })
	if kept.turn(h.in); len(kept.awake) != 1 {
		t.Errorf("one has changed, and %d are woken", len(kept.awake))
	}
}

func TestALostRouterIsLookedAtAgainOnlyWhereSeatsMayMove(t *testing.T) {
	for _, failover := range []bool{false, true} {
		s := anyStory(t, rand.New(rand.NewPCG(3, 0)), fmt.Sprintf("bgp_peer_monitor_failover_enabled=%t", failover))
		for _, vs := range s.model.VirtualServices {
			s.set(t, vs.Name, []string{"enable_rhi=true"})
		}
		for i, engine := range s.model.Engines {
			s.engine(engine.UUID, func(e *Engine) {
				e.Sessions = map[netip.Addr]Session{router: {Up: i > 0, Since: s.now}}
			})
		}
		if again := Decide(s.input()).Again; again.IsZero() == failover {
			t.Errorf("with failover %t the next decision is at %v", failover, again)
		}
	}
}
