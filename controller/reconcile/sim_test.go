package reconcile_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// The simulation has one controller: the real step and the real fleet, on a store made of values. Its engines are made
// of values, too (sim_engine_test.go). Many things fail at the same time (sim_trouble_test.go), or only one
// (sim_failure_test.go). All of it follows from a seed. What must hold:
//
//   - no Plan takes a virtual service from the last engine that has it to serve, unless an operator forces that, or
//     disables the engine while another one in its network stands by;
//   - no Plan has an engine serve an address without a virtual service of it that another engine has;
//   - no seat is on a deleted engine, and placement keeps within the limits of the group;
//   - after a restart of the controller, no draining engine is called back before serving engines had time to report;
//   - the totals of clients never shrink while the controller runs;
//   - after the trouble has ended, every virtual service comes to be on the engines that it should be on.
const (
	simTick    = 500 * time.Millisecond
	simTrouble = 10 * time.Minute
	simCalm    = 40 * time.Minute // after a failed start, an engine is avoided for 5 min; a start fails after 10 min
	simRest    = 4 * time.Minute  // the test ends after it has been settled for so long

	simRetry     = time.Second      // after a write that failed
	simUnnoticed = 15 * time.Second // time in which the controller may not notice that an engine has gone
)

var simSeeds = flag.Uint64("sim.seeds", 750, "how many seeds the simulation takes; -short: a tenth")

func seeds() uint64 {
	if testing.Short() {
		return *simSeeds / 10
	}
	return *simSeeds
}

func TestEverySeedConvergesAndNobodyIsTakenFromTheLastEngine(t *testing.T) {
	for seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, seed)
			for s.now.Before(s.began.Add(simTrouble)) {
				s.trouble()
				s.tick()
			}
			s.heal()
			s.mustSettle()
		})
	}
}

type sim struct {
	*testing.T
	*rand.Rand
	began, now time.Time
	story      []string
	engines    []*simEngine
	deleted    []*simEngine
	networks   int       // number of networks; 0: each engine has its own
	joined     int       // number of engines that have joined
	isolated   time.Time // until then no report reaches the controller
	troubled   bool
	picky      bool // engines refuse standbys, too, and name the virtual service that they refuse
	compared   bool // compares decisions and Plans with those made without a memory

	model    *model.Model // what operators wrote; they change it in place
	router   *kinds.VrfContext
	frozen   frozen // what the controller has read of model
	stored   place.Assignments
	revision int64
	offered  map[string]int64 // revision since which a virtual service has taken traffic without a break, by uuid

	// Memory of the controller's process.
	fleet      *fleet.Fleet
	reconciler reconcile.Reconciler
	placer     place.Placer // like the one of the reconciler
	started    time.Time
	alarm      time.Time
	dirty      bool             // an operator wrote something
	totals     map[string]int64 // connections in the runtime, by virtual service
}

func newSim(t *testing.T, seed uint64) *sim {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &sim{
		T: t, Rand: rand.New(rand.NewPCG(seed, 1)), began: start, now: start, troubled: true, compared: seed%4 == 0,
		picky:    seed%3 == 0,
		revision: 1, offered: map[string]int64{}, router: simRouter(), networks: []int{0, 0, 3, 4, 1}[seed%5],
	}
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
	group.UUID, group.Name = "group", "group"
	group.MinScaleoutPerVS = uint32(1 + s.IntN(2))
	group.MaxVSPerSE, group.MaxSE = uint32(3+s.IntN(3)), uint32(4+s.IntN(7))
	group.AutoRebalanceIntervalS = 5
	group.BGPPeerMonitorFailover = s.IntN(3) > 0
	group.HAMode = []string{"HA_MODE_SHARED", "HA_MODE_SHARED", "HA_MODE_SHARED_PAIR",
		"HA_MODE_LEGACY_ACTIVE_STANDBY"}[s.IntN(4)]
	s.model = &model.Model{Groups: []*model.Group{group}}
	for range 5 + s.IntN(3) {
		s.join()
	}
	for i := range 1 + s.IntN(3) {
		s.offer(fmt.Sprintf("vs-%d", i), i)
	}
	s.restart()
	return s
}

// offer creates a virtual service.
func (s *sim) offer(uuid string, number int) {
	group := s.model.Groups[0]
	vs := &model.VirtualService{
		Group: group, Addresses: s.addresses(number),
		ApplicationProfile: &kinds.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"},
		HTTP:               schema.Defaults[kinds.HTTPProfile](),
		NetworkProfile:     &kinds.NetworkProfile{Profile: &kinds.NetworkProfileSetting{}},
		TCP:                schema.Defaults[kinds.TCPProxy](),
	}
	vs.UUID, vs.Name = uuid, fmt.Sprintf("service-%d", number)
	vs.Type, vs.Enabled, vs.TrafficEnabled = "VS_TYPE_NORMAL", true, true
	vs.Services = []kinds.Service{{Port: uint32(80 + number), PortRangeEnd: uint32(80 + number)}}
	if s.IntN(2) == 0 {
		vs.EnableRHI, vs.VrfContext = true, s.router
	}
	s.setServices(append(slices.Clone(s.model.VirtualServices), vs))
}

// addresses gives each two numbers the same address. Where engines share a network, each number has its own.
func (s *sim) addresses(number int) []netip.Addr {
	if s.networks == 0 {
		number /= 2
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + number)})}
}

func (s *sim) setServices(services []*model.VirtualService) {
	s.model.VirtualServices = slices.SortedFunc(slices.Values(services), func(a, b *model.VirtualService) int {
		return strings.Compare(a.UUID, b.UUID)
	})
	s.wrote()
	before := s.offered
	s.offered = map[string]int64{}
	for _, vs := range services {
		if since, known := before[vs.UUID]; known && vs.Enabled {
			s.offered[vs.UUID] = since
		} else if vs.Enabled {
			s.offered[vs.UUID] = s.revision
		}
	}
}

const simRouterAddress = "10.0.0.1"

func simRouter() *kinds.VrfContext {
	vrf := &kinds.VrfContext{BGP: schema.Defaults[kinds.BGPProfile]()}
	vrf.UUID, vrf.Name = "vrf", "global"
	peer := *schema.Defaults[kinds.BGPPeer]()
	peer.PeerIP = &kinds.IPAddr{Addr: simRouterAddress, Type: "V4"}
	vrf.BGP.LocalAS, vrf.BGP.IBGP, vrf.BGP.Peers = 65000, true, []kinds.BGPPeer{peer}
	return vrf
}

func (s *sim) tell(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf("%6.1fs %s", s.now.Sub(s.began).Seconds(), fmt.Sprintf(format, args...)))
}

func (s *sim) wrong(format string, args ...any) {
	s.Helper()
	s.Fatalf("%s\n%s", strings.Join(s.story[max(0, len(s.story)-80):], "\n"), fmt.Sprintf(format, args...))
}

func (s *sim) tick() {
	s.now = s.now.Add(simTick)
	for _, engine := range s.engines {
		engine.live()
	}
	s.count()
	select {
	case <-s.fleet.Moved():
	default:
		if !s.dirty && (s.alarm.IsZero() || s.alarm.After(s.now)) {
			return
		}
	}
	s.decide()
}

// count checks the totals every 10 s.
func (s *sim) count() {
	if s.now.Sub(s.began)%(10*time.Second) != 0 {
		return
	}
	for _, vs := range s.model.VirtualServices {
		var counters fleet.Tally
		s.fleet.Read(func(known *fleet.Known) { counters = known.ServiceCounters(vs.UUID) })
		now, counted := counters.Totals["connections"]
		if counted && now < s.totals[vs.UUID] {
			s.wrong("%s had %d connections, and has %d", vs.Name, s.totals[vs.UUID], now)
		}
		s.totals[vs.UUID] = max(now, s.totals[vs.UUID])
	}
}

// wrote makes the controller decide in the next tick.
func (s *sim) wrote() { s.revision, s.dirty = s.revision+1, true }

// restart starts a new process of the controller, which finds what the last one stored.
func (s *sim) restart() {
	for _, engine := range s.engines {
		engine.hangUp()
		engine.known, engine.heard = nil, false
	}
	quiet := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return s.now }
	find := func(uuid string) (string, bool) { return uuid, s.engine(uuid) != nil }
	s.fleet = fleet.New(find, events.New(quiet, clock), clock)
	s.reconciler, s.placer = reconcile.Reconciler{}, place.Placer{}
	s.started, s.alarm, s.totals = s.now, s.now, map[string]int64{}
}

func (s *sim) input() reconcile.Input {
	return reconcile.Input{
		Input: place.Input{
			Model: s.view(), Engines: s.fleet.Facts(), Before: s.stored, Began: s.fleet.Began(), Now: s.now,
		},
	}
}

// decide is the loop of the controller: it steps until there is nothing left to write. In between, operators may order
// something, and the process may end.
func (s *sim) decide() {
	s.dirty = false
	for range 100 {
		in := s.input()
		if s.compared {
			s.agree(in)
		}
		out := s.reconciler.Step(in)
		s.alarm = out.Again
		if out.State != nil {
			s.fleet.Observe(*out.State)
			if s.compared {
				s.agreeOnPlans(in, *out.State)
			}
		}
		s.mayAnnounce(in, out.Plans)
		s.send(out.Plans)
		if out.Write == nil {
			return
		}
		if s.troubled && s.IntN(20) == 0 {
			s.order()
		}
		if s.troubled && s.IntN(50) == 0 {
			s.tell("the controller restarts before it has written")
			s.restart()
			return
		}
		s.mayUse(in.Before, *out.Write)
		if !s.write(in.Before, *out.Write) {
			s.alarm = s.now.Add(simRetry)
			return
		}
		if s.troubled && s.IntN(50) == 0 {
			s.tell("the controller restarts before it has sent anything")
			s.restart()
			return
		}
	}
	s.wrong("it does not come to a decision: %v", s.stored)
}

// write skips virtual services that an operator has ordered something for meanwhile. In trouble a write may fail, after
// a part of it is written. Then write returns false.
func (s *sim) write(base place.Assignments, write reconcile.Write) bool {
	fails := s.troubled && s.IntN(30) == 0
	if fails {
		write.Changed = write.Changed[:s.IntN(len(write.Changed)+1)]
		write.Gone = write.Gone[:s.IntN(len(write.Gone)+1)]
		s.tell("a write fails after %d assignments, %d gone", len(write.Changed), len(write.Gone))
	}
	for _, event := range write.Events {
		s.tell("%s %s: %s", event.ID, event.VirtualService.Name, event.Message)
	}
	for _, assignment := range write.Changed {
		if uuid := assignment.VirtualService; !base.Of(uuid).Equal(s.stored.Of(uuid)) {
			continue
		}
		s.check(base, assignment)
		s.stored = s.stored.With([]place.Assignment{assignment})
	}
	s.stored = s.stored.With(nil, write.Gone...)
	if len(write.Changed)+len(write.Gone) > 0 {
		s.revision, s.dirty = s.revision+1, s.dirty || fails
	}
	return !fails
}

func (s *sim) send(plans map[string]*enginev1.Plan) {
	for _, engine := range s.engines {
		if plan := plans[engine.UUID]; plan != nil && engine.connected {
			engine.target = plan
		}
	}
}

func (s *sim) engine(uuid string) *simEngine {
	if i := slices.IndexFunc(s.engines, func(e *simEngine) bool { return e.UUID == uuid }); i >= 0 {
		return s.engines[i]
	}
	return nil
}

// mustSettle checks that the simulation settles, and stays settled for a while.
func (s *sim) mustSettle() {
	why, since := "", s.now
	for end := s.now.Add(simCalm); s.now.Before(end) && s.now.Sub(since) < simRest; {
		s.tick()
		if why = s.unsettled(); why != "" {
			since = s.now
		}
	}
	if why != "" {
		s.wrong("%s", why)
	}
}

// unsettled says what is not settled yet; empty: each virtual service has as many engines as it should have, they serve
// it, and no other engine does.
func (s *sim) unsettled() string {
	for _, vs := range s.model.VirtualServices {
		assignment := s.stored.Of(vs.UUID)
		seated := map[string]bool{}
		for _, seat := range assignment.Seats {
			switch seat.State {
			case place.Serving:
				seated[seat.Engine] = true
			case place.Standby:
			default:
				return fmt.Sprintf("%s is not settled: %v", vs.Name, assignment.Seats)
			}
		}
		want := place.Wanted(vs, assignment)
		if s.networks > 0 {
			want = min(want, s.networksLeft())
		}
		if len(seated) != want {
			return fmt.Sprintf("%s is on %d engines, not on %d: %v", vs.Name, len(seated), want, assignment.Seats)
		}
		for _, engine := range s.engines {
			if serves(engine.held)[vs.UUID] != seated[engine.UUID] {
				return fmt.Sprintf("%s serves %s: %v, its seats are %v", engine.UUID, vs.Name,
					!seated[engine.UUID], assignment.Seats)
			}
		}
	}
	return s.beyondLimits()
}

// networksLeft returns the number of networks that have engines.
func (s *sim) networksLeft() int {
	left := map[string]bool{}
	for _, engine := range s.engines {
		left[engine.network] = true
	}
	return len(left)
}

// beyondLimits says which limit of the group is exceeded.
func (s *sim) beyondLimits() string {
	group, load := s.model.Groups[0], map[string]map[netip.Addr]bool{}
	for _, vs := range s.model.VirtualServices {
		for _, seat := range s.stored.Of(vs.UUID).Seats {
			if load[seat.Engine] == nil {
				load[seat.Engine] = map[netip.Addr]bool{}
			}
			load[seat.Engine][vs.Addresses[0]] = true
		}
	}
	for engine, addresses := range load {
		if len(addresses) > int(group.MaxVSPerSE) {
			return fmt.Sprintf("%s has %d, more than max_vs_per_se, which is %d", engine,
				len(addresses), group.MaxVSPerSE)
		}
	}
	return ""
}
