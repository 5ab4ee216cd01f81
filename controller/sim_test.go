package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// The simulation runs the real place, plan and fleet of one controller against engines made of values, over links that
// delay, break and lose answers. Engines die and come back, are cut off from the controller or from the router and go on
// serving; the controller restarts; operators order and disable. All of it follows from a seed. Two things must hold: no
// Plan ever takes a virtual service from the last engine that has it to serve, and when the trouble is over every virtual
// service is where it shall be.

const (
	simTick    = 500 * time.Millisecond
	simTrouble = 10 * time.Minute
	simCalm    = 40 * time.Minute // a failed start is tried again after five, given up after ten
	simSeeds   = 250

	simUnnoticed = 15 * time.Second // a death
)

func TestEverySeedConvergesAndNobodyIsTakenFromTheLastEngine(t *testing.T) {
	for seed := range uint64(simSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, seed)
			for s.now.Before(s.began.Add(simTrouble)) {
				s.trouble()
				s.tick()
			}
			s.heal()
			for end := s.now.Add(simCalm); s.now.Before(end) && !t.Failed(); {
				s.tick()
			}
			s.mustBeSettled()
		})
	}
}

type sim struct {
	*testing.T
	*rand.Rand
	began, now time.Time
	story      []string
	engines    []*simEngine

	model    *model.Model                // what operators wrote
	stored   map[string]place.Assignment // and the rest of the store
	revision int64

	// Of the controller's process.
	fleet     *fleet.Fleet
	started   time.Time
	state     fleet.State
	published int64 // revision
	alarm     time.Time
}

// simEngine is an engine and its link.
type simEngine struct {
	*sim
	uuid      string
	alive     bool
	died      time.Time // of not alive
	cut       bool      // off from the controller
	unled     bool      // off from the router
	connected bool      // as the controller sees it
	silent    time.Time
	redial    time.Time
	held      *enginev1.Plan // on its disk
	known     *enginev1.Plan // of held, to the controller
	target    *enginev1.Plan // as decided since it connected
	flight    *simFlight
	open      map[string]int // connections, by virtual service
}

// simFlight is a Plan on its way, then its answer.
type simFlight struct {
	plan    *enginev1.Plan
	arrives time.Time
	arrived bool
}

func newSim(t *testing.T, seed uint64) *sim {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &sim{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), began: start, now: start, stored: map[string]place.Assignment{}, revision: 1}
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[schema.ServiceEngineGroup]()}
	group.UUID, group.Name = "group", "group"
	group.MinScaleoutPerVS = uint32(1 + s.IntN(2))
	group.AutoRebalanceIntervalS = 5
	group.BGPPeerMonitorFailover = s.IntN(3) > 0
	group.HAMode = []string{"HA_MODE_SHARED", "HA_MODE_SHARED", "HA_MODE_SHARED_PAIR", "HA_MODE_LEGACY_ACTIVE_STANDBY"}[s.IntN(4)]
	s.model = &model.Model{Groups: []*model.Group{group}}
	for i := range 5 + s.IntN(3) {
		engine := &model.Engine{Group: group}
		engine.UUID, engine.Name, engine.EnableState = fmt.Sprintf("se-%d", i), fmt.Sprintf("engine-%d", i), "SE_STATE_ENABLED"
		s.model.Engines, group.Engines = append(s.model.Engines, engine), append(group.Engines, engine)
		s.engines = append(s.engines, &simEngine{sim: s, uuid: engine.UUID, alive: true, open: map[string]int{}})
	}
	for i := range 1 + s.IntN(3) {
		vs := simService(i, group)
		if s.IntN(2) == 0 {
			vs.EnableRHI, vs.VrfContext = true, simRouter()
		}
		s.model.VirtualServices, group.VirtualServices = append(s.model.VirtualServices, vs), append(group.VirtualServices, vs)
	}
	s.restart()
	return s
}

func simService(number int, group *model.Group) *model.VirtualService {
	vs := &model.VirtualService{
		Group: group, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + number/2)})},
		ApplicationProfile: &schema.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"},
		HTTP:               schema.Defaults[schema.HTTPProfile](),
		NetworkProfile:     &schema.NetworkProfile{},
		TCP:                schema.Defaults[schema.TCPProxy](),
	}
	vs.UUID, vs.Name = fmt.Sprintf("vs-%d", number), fmt.Sprintf("service-%d", number)
	vs.Type, vs.Enabled, vs.TrafficEnabled = "VS_TYPE_NORMAL", true, true
	vs.Services = []schema.Service{{Port: uint32(80 + number), PortRangeEnd: uint32(80 + number)}}
	return vs
}

const simRouterAddress = "10.0.0.1"

func simRouter() *schema.VrfContext {
	vrf := &schema.VrfContext{BGP: schema.Defaults[schema.BGPProfile]()}
	vrf.UUID, vrf.Name = "vrf", "global"
	peer := *schema.Defaults[schema.BGPPeer]()
	peer.PeerIP = &schema.IPAddr{Addr: simRouterAddress, Type: "V4"}
	vrf.BGP.LocalAS, vrf.BGP.IBGP, vrf.BGP.Peers = 65000, true, []schema.BGPPeer{peer}
	return vrf
}

func (s *sim) tell(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf("%6.1fs %s", s.now.Sub(s.began).Seconds(), fmt.Sprintf(format, args...)))
}

func (s *sim) wrong(format string, args ...any) {
	s.Helper()
	s.Fatalf("%s\n%s", strings.Join(s.story[max(0, len(s.story)-80):], "\n"), fmt.Sprintf(format, args...))
}

// ---- The controller

// restart is a new process that finds what the last one stored.
func (s *sim) restart() {
	quiet := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return s.now }
	s.fleet = fleet.New(nil, quiet, events.New(quiet, clock), clock)
	s.started, s.state, s.published, s.alarm = s.now, fleet.State{}, -1, s.now
	for _, engine := range s.engines {
		engine.hangUp()
		engine.known = nil
	}
}

func (s *sim) input() place.Input {
	return place.Input{Model: s.model, Engines: s.fleet.Facts(), Before: s.stored, Began: s.started, Now: s.now}
}

// decide is the reconciler's step, again and again until nothing changes.
func (s *sim) decide() {
	for range 100 {
		decision := place.Decide(s.input())
		changed, _ := decision.Changed(s.stored)
		s.alarm = decision.Again
		if len(changed) == 0 {
			s.publish()
			return
		}
		for _, assignment := range changed {
			s.stored[assignment.VirtualService] = assignment
		}
		for _, event := range decision.Events {
			s.tell("%s %s: %s", event.ID, event.VirtualService.Name, event.Message)
		}
		s.revision++
	}
	s.wrong("it does not come to a decision: %v", s.stored)
}

func (s *sim) publish() {
	s.observe()
	for _, engine := range s.engines {
		engine.target = s.state.Plans[engine.uuid]
	}
}

func (s *sim) observe() {
	if s.published == s.revision {
		return
	}
	now := *s.model
	now.Revision = s.revision
	s.state = wanted(&now, nil, place.PlacementOf(&now, s.stored), nil, s.state.Plans, s.fleet.Refuses)
	s.published = s.revision
	s.fleet.Observe(s.state)
}

// ---- The engines

func (e *simEngine) hangUp() {
	if e.connected {
		e.fleet.Disconnected(e.uuid, "gone")
	}
	e.connected, e.flight, e.silent = false, nil, time.Time{}
	e.redial = e.now.Add(time.Duration(e.IntN(5000)) * time.Millisecond)
}

// live is half a second of an engine and its link.
func (e *simEngine) live() {
	heard := e.alive && !e.cut
	switch {
	case !e.connected && heard && !e.redial.After(e.now):
		e.dial()
	case e.connected && !heard && e.silent.IsZero():
		e.silent = e.now
	case e.connected && heard:
		e.silent = time.Time{}
	}
	if !e.silent.IsZero() && e.now.Sub(e.silent) >= 10*time.Second {
		e.tell("%s is overdue", e.uuid)
		e.hangUp()
	}
	if e.connected && heard {
		e.converse()
	}
	e.serveClients()
}

func (e *simEngine) dial() {
	e.connected, e.silent, e.target = true, time.Time{}, nil
	if e.known.GetRevision() != e.held.GetRevision() {
		e.known = nil
	}
	e.fleet.Connected(e.uuid, &enginev1.Hello{
		Revision: e.held.GetRevision(), Resources: &enginev1.Resources{Hostname: e.uuid},
		Status:  &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING},
		Routing: e.routing(),
	})
}

// routing is one session with the router, and the routes that it is told.
func (e *simEngine) routing() *enginev1.Routing {
	peer := &enginev1.PeerState{Address: simRouterAddress, State: enginev1.BgpState_BGP_STATE_ESTABLISHED}
	hearing := []string{simRouterAddress}
	if e.unled {
		peer.State, hearing = enginev1.BgpState_BGP_STATE_ACTIVE, nil
	}
	routing, serving := &enginev1.Routing{Peers: []*enginev1.PeerState{peer}}, serves(e.held)
	for _, resource := range e.held.GetResources() {
		if service := resource.GetAdvertisement().GetVirtualServiceUuid(); serving[service] {
			routing.Routes = append(routing.Routes, &enginev1.AnnouncedRoute{VirtualServiceUuids: []string{service}, Peers: hearing})
		}
	}
	return routing
}

// converse sends the Plan that is wanted, one at a time, and takes its answer.
func (e *simEngine) converse() {
	if e.flight == nil && e.target != nil && e.target != e.known {
		e.flight = &simFlight{plan: e.target, arrives: e.now.Add(e.delay())}
		return
	}
	if e.flight == nil || e.flight.arrives.After(e.now) {
		return
	}
	if !e.flight.arrived {
		e.apply(e.flight.plan)
		e.flight.arrived, e.flight.arrives = true, e.now.Add(e.delay())
		return
	}
	e.known = e.flight.plan
	e.flight = nil
	e.fleet.Applied(e.uuid, e.known, nil)
}

func (e *simEngine) delay() time.Duration { return time.Duration(e.IntN(2000)) * time.Millisecond }

// apply takes a Plan, unless that leaves a virtual service without any engine that has it to serve. One that died only
// just counts: the controller cannot know yet.
func (e *simEngine) apply(plan *enginev1.Plan) {
	before := serves(e.held)
	e.held = plan
	after := serves(plan)
	for service := range before {
		if after[service] {
			continue
		}
		others := 0
		for _, other := range e.engines {
			if (other.alive || e.now.Sub(other.died) < simUnnoticed) && serves(other.held)[service] {
				others++
			}
		}
		if others == 0 {
			e.wrong("%s was the last to serve %s, and shall not any more: %v", e.uuid, service, e.stored[service].Seats)
		}
	}
}

func serves(plan *enginev1.Plan) map[string]bool {
	set := map[string]bool{}
	for _, resource := range plan.GetResources() {
		if service := resource.GetVirtualService(); service != nil && service.GetDuty() == dataplanev1.Duty_DUTY_SERVE {
			set[service.GetUuid()] = true
		}
	}
	return set
}

// serveClients has clients come where it is served, and go elsewhere after a while.
func (e *simEngine) serveClients() {
	serving, sample := serves(e.held), &dataplanev1.Sample{UnixMs: uint64(e.now.UnixMilli()), Pid: 1}
	for _, resource := range e.held.GetResources() {
		service := resource.GetVirtualService()
		if service == nil {
			continue
		}
		if serving[service.GetUuid()] {
			e.open[service.GetUuid()] = 3
		} else if e.open[service.GetUuid()] > 0 && e.IntN(20) == 0 {
			e.open[service.GetUuid()]--
		}
		sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
			Uuid: service.GetUuid(), OpenConnections: uint64(e.open[service.GetUuid()]),
		})
	}
	if e.connected && e.alive && !e.cut && e.now.Nanosecond() == 0 {
		e.fleet.Reported(e.uuid, &enginev1.Report{Body: &enginev1.Report_Routing{Routing: e.routing()}})
		e.fleet.Reported(e.uuid, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
	}
}

// ---- What happens

func (s *sim) tick() {
	s.now = s.now.Add(simTick)
	for _, engine := range s.engines {
		engine.live()
	}
	select {
	case <-s.fleet.Moved():
	default:
		if s.alarm.IsZero() || s.alarm.After(s.now) {
			return
		}
	}
	s.decide()
}

// trouble is at most one thing that goes wrong, or that an operator does.
func (s *sim) trouble() {
	if s.IntN(20) > 0 {
		return
	}
	engine := s.engines[s.IntN(len(s.engines))]
	switch s.IntN(11) {
	case 0:
		s.tell("%s dies", engine.uuid)
		engine.alive, engine.died = false, s.now
		engine.hangUp() // its end closes the connection
	case 1, 2:
		s.tell("%s is started", engine.uuid)
		engine.alive = true
	case 3:
		engine.cut = !engine.cut
		s.tell("%s is cut off: %v", engine.uuid, engine.cut)
	case 4:
		s.tell("the link of %s breaks", engine.uuid)
		engine.hangUp()
	case 5:
		s.tell("the controller restarts")
		s.restart()
	case 6:
		engine.unled = !engine.unled
		s.tell("%s is cut off from the router: %v", engine.uuid, engine.unled)
	case 7:
		s.disable(s.model.Engines[s.IntN(len(s.model.Engines))])
	case 8:
		s.rebalance()
	default:
		s.order()
	}
}

// rebalance follows loads that engines may have had.
func (s *sim) rebalance() {
	loads := map[string]place.Load{}
	for _, engine := range s.engines {
		load := place.Load{Percent: float64(s.IntN(150)), Criterion: "CPU", Services: map[string]float64{}}
		for uuid := range serves(engine.held) {
			load.Services[uuid] = load.Percent / float64(len(serves(engine.held)))
		}
		if s.IntN(4) > 0 {
			loads[engine.uuid] = load
		}
	}
	changed, events := place.Rebalance(s.input(), s.model.Groups[0], loads)
	for _, event := range events {
		s.tell("%s %s: %s", event.ID, event.VirtualService.Name, event.Message)
	}
	for _, assignment := range changed {
		s.stored[assignment.VirtualService] = assignment
	}
	s.revision++
	s.decide()
}

func (s *sim) disable(engine *model.Engine) {
	states := []string{"SE_STATE_ENABLED", "SE_STATE_ENABLED", "SE_STATE_DISABLED", "SE_STATE_DISABLED_FOR_PLACEMENT"}
	engine.EnableState = states[s.IntN(len(states))]
	s.tell("%s is %s", engine.UUID, engine.EnableState)
	s.revision++
	s.decide()
}

func (s *sim) order() {
	vs := s.model.VirtualServices[s.IntN(len(s.model.VirtualServices))]
	verbs := []place.Verb{place.DoScaleOut, place.DoScaleOut, place.DoScaleIn, place.DoMigrate, place.DoSwitchover}
	order := place.Order{Verb: verbs[s.IntN(len(verbs))], Primary: s.IntN(4) == 0}
	switch s.IntN(6) {
	case 0, 1:
		order.To = s.engines[s.IntN(len(s.engines))].uuid
	case 2:
		order.New = true
	}
	if seats := s.stored[vs.UUID].Seats; len(seats) > 0 && order.Verb == place.DoMigrate {
		order.From = seats[s.IntN(len(seats))].Engine
	}
	assignments, _, err := order.Accept(s.input(), vs)
	if refusal := (*place.Refusal)(nil); errors.As(err, &refusal) {
		return
	}
	s.tell("%s %s to=%s from=%s", order.Verb, vs.Name, order.To, order.From)
	for _, assignment := range assignments {
		s.stored[assignment.VirtualService] = assignment
	}
	s.revision++
	s.decide()
}

func (s *sim) heal() {
	s.tell("the trouble is over")
	for i, engine := range s.engines {
		engine.alive, engine.cut, engine.unled = true, false, false
		s.model.Engines[i].EnableState = "SE_STATE_ENABLED"
	}
	s.revision++
	s.decide()
}

// mustBeSettled: each virtual service has as many engines as it shall, they serve it, and nobody else does.
func (s *sim) mustBeSettled() {
	for _, vs := range s.model.VirtualServices {
		assignment := s.stored[vs.UUID]
		seated := map[string]bool{}
		for _, seat := range assignment.Seats {
			switch seat.State {
			case place.Serving:
				seated[seat.Engine] = true
			case place.Standby:
			default:
				s.wrong("%s is not settled: %v", vs.Name, assignment.Seats)
			}
		}
		if want := place.Wanted(vs, assignment); len(seated) != want {
			s.wrong("%s is on %d engines, not on %d: %v", vs.Name, len(seated), want, assignment.Seats)
		}
		for _, engine := range s.engines {
			if serves(engine.held)[vs.UUID] != seated[engine.uuid] {
				s.wrong("%s serves %s: %v, its seats are %v", engine.uuid, vs.Name, !seated[engine.uuid], assignment.Seats)
			}
		}
	}
}
