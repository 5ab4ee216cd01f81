package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// simEngine is an engine with its link, which delays, breaks and loses answers.
type simEngine struct {
	*sim
	UUID      string
	object    *model.Engine
	network   string // whose addresses it shares with others; empty: with nobody
	alive     bool
	listens   bool      // its data plane runs, with what it holds
	died      time.Time // when it last died
	cut       bool      // no connection to the controller
	unled     bool      // has no session with the router
	refuses   string    // uuid of the virtual service that it refuses to serve
	let       time.Time // when it last stopped serving something by force
	forced    time.Time // when it last was in SE_STATE_DISABLED_FORCE
	disabled  time.Time // when it last was not in SE_STATE_ENABLED
	connected bool      // from the view of the controller
	heard     bool      // it has connected since the controller started
	silent    time.Time
	redial    time.Time
	held      *enginev1.Plan // on its disk
	known     *enginev1.Plan // what the controller knows of held
	target    *enginev1.Plan // the newest Plan that was sent since it connected
	refused   *enginev1.Plan
	retry     time.Time // when to send refused again
	flight    *simFlight
	open      map[string]int    // connections, by virtual service
	counted   map[string]uint64 // all connections so far, by virtual service
	process   uint32            // of the data plane that counts
	said      simRoutes
}

// simRoutes has what the routes of an engine depend on.
type simRoutes struct {
	held  *enginev1.Plan
	unled bool
}

// simFlight is a Plan on its way, and then the answer to it.
type simFlight struct {
	plan    *enginev1.Plan
	arrives time.Time
	arrived bool
	refused bool
}

// join adds a new engine.
func (s *sim) join() {
	group := s.model.Groups[0]
	engine := &model.Engine{Group: group}
	engine.UUID, engine.Name, engine.EnableState = fmt.Sprintf("se-%d", s.joined), fmt.Sprintf("engine-%d", s.joined),
		"SE_STATE_ENABLED"
	network := ""
	if s.networks > 0 {
		network = fmt.Sprintf("network-%d", s.joined%s.networks)
	}
	s.joined++
	s.setEngines(append(slices.Clone(s.model.Engines), engine))
	s.engines = append(s.engines, &simEngine{sim: s, UUID: engine.UUID, object: engine, network: network, alive: true,
		open: map[string]int{}, counted: map[string]uint64{}})
}

func (s *sim) setEngines(engines []*model.Engine) {
	s.model.Engines, s.model.Groups[0].Engines = engines, engines
	s.wrote()
}

func (e *simEngine) hangUp() {
	if e.connected {
		e.fleet.Disconnected(e.UUID, "gone")
	}
	e.connected, e.flight, e.silent = false, nil, time.Time{}
	e.redial = e.now.Add(time.Duration(e.IntN(5000)) * time.Millisecond)
}

// live lets half a second pass for an engine and its link.
func (e *simEngine) live() {
	e.listen()
	heard := e.isHeard()
	switch {
	case !e.connected && heard && !e.redial.After(e.now):
		e.dial()
	case e.connected && !heard && e.silent.IsZero():
		e.silent = e.now
	case e.connected && heard:
		e.silent = time.Time{}
	}
	if !e.silent.IsZero() && e.now.Sub(e.silent) >= 10*time.Second {
		e.tell("%s is overdue", e.UUID)
		e.hangUp()
	}
	if e.object.EnableState == "SE_STATE_DISABLED_FORCE" {
		e.forced = e.now
	}
	if e.object.EnableState != "SE_STATE_ENABLED" {
		e.disabled = e.now
	}
	if e.connected && heard {
		e.converse()
	}
	e.serveClients()
}

// listen starts the data plane of an engine that has been started again. If another engine listens meanwhile, it starts
// with nothing.
func (e *simEngine) listen() {
	if e.alive && !e.listens && e.isInTheWay(e.held) {
		e.tell("%s has lost its addresses", e.UUID)
		e.held = nil
		e.hangUp()
	}
	e.listens = e.alive
}

// isInTheWay tells whether another engine in the network listens at an address of a Plan.
func (e *simEngine) isInTheWay(plan *enginev1.Plan) bool {
	wanted := listeners(plan)
	return slices.ContainsFunc(slices.Concat(e.engines, e.deleted), func(other *simEngine) bool {
		if other == e || !other.listens || !other.alive || e.network == "" || other.network != e.network {
			return false
		}
		for at := range listeners(other.held) {
			if wanted[at] {
				return true
			}
		}
		return false
	})
}

// listeners returns the addresses with ports at which an engine with a Plan listens.
func listeners(plan *enginev1.Plan) map[string]bool {
	set := map[string]bool{}
	for _, resource := range plan.GetResources() {
		service := resource.GetVirtualService()
		if service.GetDuty() == dataplanev1.Duty_DUTY_STANDBY {
			continue
		}
		for _, listener := range service.GetListeners() {
			set[fmt.Sprint(listener.GetAddress(), " ", listener.GetPort())] = true
		}
	}
	return set
}

// isHeard tells whether the reports of the engine reach the controller.
func (e *simEngine) isHeard() bool { return e.alive && !e.cut && !e.isolated.After(e.now) }

func (e *simEngine) dial() {
	e.connected, e.heard, e.silent, e.target, e.refused = true, true, time.Time{}, nil, nil
	if e.known.GetRevision() != e.held.GetRevision() {
		e.known = nil
	}
	e.said = simRoutes{e.held, e.unled}
	e.fleet.Connected(e.UUID, &enginev1.Hello{
		Revision: e.held.GetRevision(), Resources: &enginev1.Resources{Hostname: e.UUID, Network: e.network},
		Status:  &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING},
		Routing: e.routing(),
	})
}

// routing returns one session with the router, and the routes that the router is told.
func (e *simEngine) routing() *enginev1.Routing {
	peer := &enginev1.PeerState{Address: simRouterAddress, State: enginev1.BgpState_BGP_STATE_ESTABLISHED}
	hearing := []string{simRouterAddress}
	if e.unled {
		peer.State, hearing = enginev1.BgpState_BGP_STATE_ACTIVE, nil
	}
	routing, serving := &enginev1.Routing{Peers: []*enginev1.PeerState{peer}}, serves(e.held)
	for _, resource := range e.held.GetResources() {
		if service := resource.GetAdvertisement().GetVirtualServiceUuid(); serving[service] {
			routing.Routes = append(routing.Routes, &enginev1.AnnouncedRoute{VirtualServiceUuids: []string{service},
				Peers: hearing})
		}
	}
	return routing
}

// converse sends the newest Plan, one Plan at a time, and receives the answer.
func (e *simEngine) converse() {
	waits := e.target == e.refused && e.retry.After(e.now)
	if e.flight == nil && e.target != nil && e.target != e.known && !waits {
		e.flight = &simFlight{plan: e.target, arrives: e.now.Add(e.delay())}
		return
	}
	if e.flight == nil || e.flight.arrives.After(e.now) {
		return
	}
	if !e.flight.arrived {
		e.flight.refused = serves(e.flight.plan)[e.refuses] || e.isInTheWay(e.flight.plan) ||
			e.picky && standsBy(e.flight.plan, e.refuses)
		if !e.flight.refused {
			e.tell("%s takes Plan %d, and serves %v", e.UUID, e.flight.plan.GetRevision(),
				slices.Sorted(maps.Keys(serves(e.flight.plan))))
			e.apply(e.flight.plan)
		}
		e.flight.arrived, e.flight.arrives = true, e.now.Add(e.delay())
		return
	}
	landed := e.flight
	e.flight = nil
	if landed.refused {
		e.refused, e.retry = landed.plan, e.now.Add(30*time.Second)
		var errors []*dataplanev1.Finding
		if e.picky && !e.isInTheWay(landed.plan) {
			errors = []*dataplanev1.Finding{{Uuid: e.refuses}}
		}
		e.fleet.Refused(e.UUID, landed.plan, errors)
		return
	}
	e.known = landed.plan
	e.fleet.Applied(e.UUID, e.known, nil)
}

func (e *simEngine) delay() time.Duration { return time.Duration(e.IntN(2000)) * time.Millisecond }

// apply makes the engine hold a Plan. The test fails if a virtual service is left without any engine that has it to
// serve.
func (e *simEngine) apply(plan *enginev1.Plan) {
	held, before := e.held, serves(e.held)
	e.held = plan
	after := serves(plan)
	for service := range before {
		since, offered := e.offered[service]
		switch {
		case after[service], !offered, int64(held.GetRevision()) < since: // replaced since
		case e.isUnnoticed(e.forced):
			e.let = e.now
		case e.isUnnoticed(e.disabled) && e.isRelieved(service):
		case !slices.ContainsFunc(slices.Concat(e.engines, e.deleted), func(other *simEngine) bool {
			return other.maySeemToServe(service)
		}):
			e.wrong("%s was the last to serve %s, and shall not any more: %v", e.UUID, service,
				e.stored.Of(service).Seats)
		}
	}
}

// isRelieved tells whether another engine in the network stands by for a virtual service.
func (e *simEngine) isRelieved(service string) bool {
	return slices.ContainsFunc(e.engines, func(other *simEngine) bool {
		return e.network != "" && other.network == e.network && (other.alive || other.isUnnoticed(other.died)) &&
			standsBy(other.held, service)
	})
}

func standsBy(plan *enginev1.Plan, uuid string) bool {
	return slices.ContainsFunc(plan.GetResources(), func(resource *enginev1.Resource) bool {
		service := resource.GetVirtualService()
		return service.GetUuid() == uuid && service.GetDuty() == dataplanev1.Duty_DUTY_STANDBY
	})
}

// maySeemToServe is true even if the engine died or stopped serving a short time ago: the controller could not know
// that yet.
func (e *simEngine) maySeemToServe(service string) bool {
	return (e.alive || e.isUnnoticed(e.died)) && (serves(e.held)[service] || e.isUnnoticed(e.let))
}

func (e *simEngine) isUnnoticed(at time.Time) bool { return e.now.Sub(at) < simUnnoticed }

func serves(plan *enginev1.Plan) map[string]bool {
	set := map[string]bool{}
	for _, resource := range plan.GetResources() {
		if service := resource.GetVirtualService(); service != nil && service.GetDuty() == dataplanev1.Duty_DUTY_SERVE {
			set[service.GetUuid()] = true
		}
	}
	return set
}

// serveClients connects clients where the virtual service is served. Where it is no longer served, clients leave after
// a while.
func (e *simEngine) serveClients() {
	serving, sample := serves(e.held), &dataplanev1.Sample{UnixMs: uint64(e.now.UnixMilli()), Pid: e.process}
	counted := map[string]uint64{}
	for _, resource := range e.held.GetResources() {
		service := resource.GetVirtualService()
		if service == nil {
			continue
		}
		counted[service.GetUuid()] = e.counted[service.GetUuid()]
		if serving[service.GetUuid()] {
			e.open[service.GetUuid()] = 3
			counted[service.GetUuid()]++
		} else if e.open[service.GetUuid()] > 0 && e.IntN(20) == 0 {
			e.open[service.GetUuid()]--
		}
		sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
			Uuid: service.GetUuid(), OpenConnections: uint64(e.open[service.GetUuid()]),
			ConnectionsTotal: counted[service.GetUuid()],
		})
	}
	e.counted = counted // a virtual service that is removed and added again counts from zero
	if !e.connected || !e.isHeard() || e.now.Nanosecond() > 0 {
		return
	}
	if now := (simRoutes{e.held, e.unled}); now != e.said {
		e.said = now
		e.fleet.Reported(e.UUID, &enginev1.Report{Body: &enginev1.Report_Routing{Routing: e.routing()}})
	}
	e.fleet.Reported(e.UUID, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
}
