package reconcile_test

import (
	"net/netip"
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
)

// check checks a decision about one virtual service.
func (s *sim) check(base place.Assignments, after place.Assignment) {
	s.Helper()
	had := map[string]place.Seat{}
	for _, seat := range base.Of(after.VirtualService).Seats {
		had[seat.Engine] = seat
	}
	counting, facts := 0, s.fleet.Facts()
	_, most := place.Limits(s.model.Groups[0])
	for _, seat := range after.Seats {
		engine := s.engine(seat.Engine)
		if engine == nil {
			s.wrong("%s is deleted, and has a seat: %v", seat.Engine, after)
		}
		if was, known := had[seat.Engine]; known && was.State == place.Draining && seat.State == place.Leaving {
			s.mayCallBack(engine, base, after.VirtualService)
		}
		fact := facts[seat.Engine]
		if (seat.State == place.Starting || seat.State == place.Serving) && isThere(fact) {
			counting++
		}
	}
	if counting > most {
		s.wrong("%d engines are more than %d: %v", counting, most, after)
	}
}

func isThere(fact place.Engine) bool {
	return fact.Up && fact.Sessions[netip.MustParseAddr(simRouterAddress)].Up
}

// mayUse checks that a decision puts unused engines into use only while max_se has room. Engines that are away do not
// count.
func (s *sim) mayUse(before place.Assignments, write reconcile.Write) {
	after := before.With(write.Changed, write.Gone...)
	facts, inUse, fresh := s.fleet.Facts(), map[string]bool{}, ""
	for _, assignment := range after {
		for _, seat := range assignment.Seats {
			if seat.State != place.Draining && isThere(facts[seat.Engine]) {
				inUse[seat.Engine] = true
			}
			if !hasSeat(before, seat.Engine) {
				fresh = seat.Engine
			}
		}
	}
	if limit := int(s.model.Groups[0].MaxSE); fresh != "" && len(inUse) > limit {
		s.wrong("%s is one more than max_se, which is %d: %v", fresh, limit, inUse)
	}
}

func hasSeat(assignments place.Assignments, engine string) bool {
	for _, assignment := range assignments {
		if slices.ContainsFunc(assignment.Seats, func(seat place.Seat) bool { return seat.Engine == engine }) {
			return true
		}
	}
	return false
}

// mayCallBack checks that no engine is called back while a serving engine may still connect after a restart of the
// controller. An engine that does not drain another virtual service of the address goes on to serve it: that is no
// call.
func (s *sim) mayCallBack(engine *simEngine, base place.Assignments, uuid string) {
	for _, other := range sharing(s.model, uuid) {
		for _, seat := range base.Of(other.UUID).Seats {
			if seat.Engine == engine.UUID && seat.State != place.Draining {
				return
			}
		}
	}
	for _, seat := range base.Of(uuid).Seats {
		other := s.engine(seat.Engine)
		if s.now.Sub(s.started) < 30*time.Second && seat.State == place.Serving && other != nil && !other.heard &&
			other.object.EnableState != "SE_STATE_DISABLED_FORCE" {
			s.wrong("%s is called back, and %s may yet come: %v", engine.UUID, seat.Engine, base.Of(uuid))
		}
	}
}

// mayAnnounce checks that no Plan has an engine serve an address without a virtual service of it that another engine
// has: the engine would announce the address, and refuse the clients of that virtual service.
func (s *sim) mayAnnounce(in reconcile.Input, plans map[string]*enginev1.Plan) {
	for engine, plan := range plans {
		for served := range serves(plan) {
			for _, other := range sharing(in.Model, served) {
				if !accepts(plan, other.UUID) && len(in.Before.Of(other.UUID).Seats) > 0 {
					s.wrong("%s is to serve %s without %s, which is on %v", engine, served, other.UUID,
						in.Before.Of(other.UUID).Seats)
				}
			}
		}
	}
}

// sharing returns the enabled virtual services on the address of an enabled one.
func sharing(m *model.Model, uuid string) (others []*model.VirtualService) {
	at := slices.IndexFunc(m.VirtualServices, func(vs *model.VirtualService) bool {
		return vs.UUID == uuid && vs.Enabled
	})
	for _, vs := range m.VirtualServices {
		if at >= 0 && vs.Enabled && slices.Equal(vs.Addresses, m.VirtualServices[at].Addresses) {
			others = append(others, vs)
		}
	}
	return others
}

// accepts tells whether an engine with a Plan accepts clients of a virtual service.
func accepts(plan *enginev1.Plan, uuid string) bool {
	return slices.ContainsFunc(plan.GetResources(), func(resource *enginev1.Resource) bool {
		service := resource.GetVirtualService()
		return service.GetUuid() == uuid && service.GetDuty() != dataplanev1.Duty_DUTY_STANDBY
	})
}
