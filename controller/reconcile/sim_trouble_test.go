package reconcile_test

import (
	"errors"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

const simEnginesMin = 5

// trouble makes something fail now and then, or an operator act. Sometimes several of these happen at once.
func (s *sim) trouble() {
	if s.IntN(20) > 0 {
		return
	}
	count := 1
	if s.IntN(6) == 0 {
		count += 1 + s.IntN(3)
	}
	for range count {
		s.troubleOnce()
	}
}

func (s *sim) troubleOnce() {
	engine := s.engines[s.IntN(len(s.engines))]
	switch s.IntN(16) {
	case 0:
		engine.die()
	case 1, 2:
		engine.start()
	case 3:
		engine.cut = !engine.cut
		s.tell("%s is cut off: %v", engine.UUID, engine.cut)
	case 4:
		s.tell("the link of %s breaks", engine.UUID)
		engine.hangUp()
	case 5:
		s.tell("the controller restarts")
		s.restart()
	case 6:
		engine.unled = !engine.unled
		s.tell("%s is cut off from the router: %v", engine.UUID, engine.unled)
	case 7:
		s.disable(engine)
	case 8:
		s.rebalance()
	case 9:
		engine.refuse(s.services()[s.IntN(len(s.services()))].UUID)
	case 10:
		s.replaceEngine(engine)
	case 11:
		s.changeService(s.services()[s.IntN(len(s.services()))])
	case 12:
		s.isolate()
	default:
		s.order()
	}
}

// isolate cuts the controller off from all engines for a while.
func (s *sim) isolate() {
	s.isolated = s.now.Add(time.Duration(1+s.IntN(90)) * time.Second)
	s.tell("the controller hears nobody for %v", s.isolated.Sub(s.now))
}

func (s *sim) services() []*model.VirtualService { return s.model.VirtualServices }

func (e *simEngine) die() {
	e.tell("%s dies", e.UUID)
	if e.alive {
		e.died = e.now
	}
	e.alive, e.counted = false, map[string]uint64{}
	e.process++
	e.hangUp() // when the process ends, the connection closes
}

// start starts an engine, with the disk that it had or an empty one.
func (e *simEngine) start() {
	if !e.alive && !e.isUnnoticed(e.died) && e.IntN(4) == 0 {
		e.tell("%s loses its disk", e.UUID)
		e.held = nil
	}
	e.tell("%s is started", e.UUID)
	e.alive = true
}

// refuse makes an engine refuse every Plan with a virtual service to serve. The next call ends that.
func (e *simEngine) refuse(service string) {
	if e.refuses != "" {
		service = ""
	}
	e.refuses = service
	e.tell("%s refuses %q", e.UUID, service)
}

// replaceEngine deletes an engine, adds one, or does both.
func (s *sim) replaceEngine(gone *simEngine) {
	if s.IntN(2) == 0 || len(s.engines) <= simEnginesMin {
		s.join()
		s.tell("%s joins", s.engines[len(s.engines)-1].UUID)
	}
	if len(s.engines) > simEnginesMin {
		s.tell("%s is deleted", gone.UUID)
		gone.die()
		s.deleted = append(s.deleted, gone)
		s.engines = slices.DeleteFunc(slices.Clone(s.engines), func(e *simEngine) bool { return e == gone })
		s.setEngines(slices.DeleteFunc(slices.Clone(s.model.Engines), func(e *model.Engine) bool {
			return e == gone.object
		}))
	}
}

// changeService disables or enables a virtual service, gives it an address that others may have, or creates it anew.
func (s *sim) changeService(vs *model.VirtualService) {
	switch s.IntN(5) {
	case 0, 1:
		vs.Enabled = !vs.Enabled
		s.tell("%s is enabled: %v", vs.UUID, vs.Enabled)
		s.setServices(s.services())
	case 2:
		number := s.IntN(3)
		if s.networks > 0 {
			number = 10*(1+number) + int(vs.Services[0].Port-80)
		}
		vs.Addresses = s.addresses(number)
		s.tell("%s has %v", vs.UUID, vs.Addresses)
		s.setServices(s.services())
	default:
		s.createAnew(vs)
	}
}

// createAnew deletes a virtual service and creates it again, with the same or another uuid.
func (s *sim) createAnew(vs *model.VirtualService) {
	s.tell("%s is deleted, and created anew", vs.UUID)
	delete(s.totals, vs.UUID)
	s.setServices(slices.DeleteFunc(slices.Clone(s.services()), func(other *model.VirtualService) bool {
		return other == vs
	}))
	if s.IntN(2) == 0 && len(s.services()) > 0 {
		s.decide()
	}
	uuid := vs.UUID
	if s.IntN(2) == 0 {
		uuid += "'"
	}
	s.offer(uuid, int(vs.Services[0].Port-80))
}

// rebalance rebalances the group with random loads.
func (s *sim) rebalance() {
	loads := map[string]place.Load{}
	for _, engine := range s.engines {
		load := place.Load{Percent: float64(s.IntN(150)), Criterion: "CPU", Services: map[string]float64{}}
		for uuid := range serves(engine.held) {
			load.Services[uuid] = load.Percent / float64(len(serves(engine.held)))
		}
		if s.IntN(4) > 0 {
			loads[engine.UUID] = load
		}
	}
	in := s.input()
	changed, events := new(place.Placer).Rebalance(in.Input, in.Model.Groups[0], loads)
	for _, event := range events {
		s.tell("%s %s: %s", event.ID, event.VirtualService.Name, event.Message)
	}
	s.stored = s.stored.With(changed)
	s.wrote()
}

func (s *sim) disable(engine *simEngine) {
	states := []string{
		"SE_STATE_ENABLED", "SE_STATE_ENABLED", "SE_STATE_DISABLED", "SE_STATE_DISABLED_FOR_PLACEMENT",
		"SE_STATE_DISABLED_FORCE",
	}
	engine.object.EnableState = states[s.IntN(len(states))]
	s.tell("%s is %s", engine.UUID, engine.object.EnableState)
	s.wrote()
}

func (s *sim) order() {
	vs := s.services()[s.IntN(len(s.services()))]
	verbs := []place.Verb{place.DoScaleOut, place.DoScaleOut, place.DoScaleIn, place.DoMigrate, place.DoSwitchover}
	order := place.Order{Verb: verbs[s.IntN(len(verbs))], Primary: s.IntN(4) == 0}
	switch s.IntN(6) {
	case 0, 1:
		order.To = s.engines[s.IntN(len(s.engines))].UUID
	case 2:
		order.New = true
	}
	if seats := s.stored.Of(vs.UUID).Seats; len(seats) > 0 && (order.Verb == place.DoMigrate || s.IntN(4) == 0) {
		order.From = seats[s.IntN(len(seats))].Engine
	}
	assignments, _, err := new(place.Placer).Accept(s.input().Input, vs, order)
	if refusal := (*place.Refusal)(nil); errors.As(err, &refusal) {
		return
	}
	s.tell("%s %s to=%s from=%s", order.Verb, vs.Name, order.To, order.From)
	s.stored = s.stored.With(assignments)
	s.wrote()
}

func (s *sim) heal() {
	s.tell("the trouble is over")
	s.troubled, s.isolated = false, s.now
	for _, engine := range s.engines {
		engine.alive, engine.cut, engine.unled, engine.refuses = true, false, false, ""
		engine.object.EnableState = "SE_STATE_ENABLED"
	}
	for _, vs := range s.services() {
		vs.Enabled = true
	}
	s.setServices(s.services())
}
