package place

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// service is one virtual service, or several that go together, during a decision.
type service struct {
	*decider
	all   []*model.VirtualService
	vs    *model.VirtualService // the first of all
	group *model.Group
	a     Assignment
	gone  map[string]bool // cached results of away, by engine uuid

	next     time.Time // when to decide again because of the time; zero: never
	restless bool      // it depended on something that Placer does not watch
}

func (d *decider) service(set *set) *service {
	return &service{decider: d, all: set.all, vs: set.all[0], group: set.all[0].Group, a: set.before.clone(),
		gone: map[string]bool{}}
}

// again asks for another decision at a time.
func (s *service) again(at time.Time) {
	s.next = sooner(s.next, at, s.in.Now)
	s.decider.again(at)
}

// serviceOf returns the service that includes a virtual service.
func (d *decider) serviceOf(vs *model.VirtualService) *service {
	return d.service(d.kept.sets[vs.UUID])
}

func (s *service) step() {
	s.forget()
	if !takesTraffic(s.vs) {
		s.clear()
		return
	}
	s.hear()
	s.stopWaiting()
	s.markLeaving()
	s.callBack()
	s.fill()
	s.trim()
	s.release()
	s.standby()
	s.rank()
	s.locate()
}

// locate records the next hop of each engine. An engine that is away keeps its next hop.
func (s *service) locate() {
	for i := range s.a.Seats {
		if at := s.in.Engines[s.a.Seats[i].Engine].NextHop; at.IsValid() {
			s.a.Seats[i].NextHop = at
		}
	}
}

// forget drops the seats on deleted engines, and the shuns that are over.
func (s *service) forget() {
	for _, seat := range slices.Clone(s.a.Seats) {
		if s.engines[seat.Engine] == nil {
			s.drop(seat, "is deleted")
		}
	}
	s.a.Shunned = slices.DeleteFunc(s.a.Shunned, func(shun Shun) bool {
		end := shun.Until
		if shun.Outages > 0 {
			end = end.Add(outagesFor)
		}
		return !end.After(s.in.Now)
	})
	for _, shun := range s.a.Shunned {
		s.again(shun.Until)
	}
}

// clear drops all seats: the virtual service must not be served.
func (s *service) clear() {
	for _, seat := range slices.Clone(s.a.Seats) {
		s.drop(seat, "must not serve it while it takes no traffic")
	}
}

func (s *service) markLeaving() {
	for _, seat := range s.a.Seats {
		force := seat.State == Leaving && seat.Cause != Disabled && s.engines[seat.Engine].EnableState == forced
		if seat.counts() && !s.mayKeep(seat.Engine) || force {
			s.become(seat.Engine, Leaving, Disabled)
		}
	}
}

// callBack makes draining and stopped engines serve again if no other engine certainly serves, or takes over next: the
// others may have failed a moment ago. While serving engines may yet connect, draining engines get no new Plan.
func (s *service) callBack() {
	if s.isServed() {
		return
	}
	waits := s.awaits()
	for _, seat := range s.a.Seats {
		switch {
		case !seat.isEnding() || !s.up(seat.Engine) || s.engines[seat.Engine].EnableState == forced:
		case s.successor(seat) != nil:
		case waits:
			s.out.Waiting[seat.Engine], s.restless = true, true
		case seat.State == Stopped && s.isTakenBeside(seat.Engine): // until that one has stopped
		default:
			s.become(seat.Engine, Leaving, seat.Cause)
		}
	}
}

// mayKeep tells whether an engine may keep its seats. In SE_STATE_DISABLED_FOR_PLACEMENT it may.
func (s *service) mayKeep(engine string) bool {
	object := s.engines[engine]
	return object.Group == s.group && object.EnableState != "SE_STATE_DISABLED" && object.EnableState != forced
}

const forced = "SE_STATE_DISABLED_FORCE"

// release makes leaving seats drain, once enough others serve, and ends stopped seats that need not serve again.
func (s *service) release() {
	serving := s.healthy()
	for _, seat := range slices.Clone(s.a.Seats) {
		needless := s.isServed() || s.engines[seat.Engine].EnableState == forced
		next := s.successor(seat)
		replaced := next == nil || next.State == Standby && len(s.present()) >= s.wanted()
		if seat.State == Stopped && needless && replaced {
			s.drop(seat, "has stopped")
		}
	}
	for _, seat := range slices.Clone(s.a.Seats) {
		goes := seat.State == Leaving || seat.counts() && s.away(seat.Engine)
		switch {
		case !goes:
		case serving >= s.wanted(),
			seat.Cause == Disabled && s.engines[seat.Engine].EnableState == forced,
			seat.Cause == Disabled && serving > 0 && !s.grows(),
			seat.Cause == Disabled && serving == 0 && s.mayStop(seat):
			cause := seat.Cause
			if seat.State != Leaving {
				cause = Failover
			}
			s.become(seat.Engine, Draining, cause)
		}
	}
}

// standby keeps one engine as standby if the group is active/standby, or if it takes over from another one in its
// network. If the standby is away, it keeps its seat until there is another one.
func (s *service) standby() {
	s.reserve()
	ready, legacy := false, s.group.HAMode == legacyMode
	var away []Seat
	for _, seat := range slices.Clone(s.a.Seats) {
		switch {
		case seat.State != Standby:
		case s.succeeds(seat):
			ready = true
		case !legacy || ready || !s.mayKeep(seat.Engine):
			s.drop(seat, "is no longer its standby")
		case s.away(seat.Engine):
			away = append(away, seat)
		default:
			ready = true
		}
	}
	if !ready && legacy && s.healthy() > 0 {
		if engine := s.chooseStandby(); engine != nil {
			s.take(engine.UUID, Standby, New)
			ready = true
		}
	}
	if ready {
		for _, seat := range away {
			s.drop(seat, "is no longer its standby")
		}
	}
}

// rank puts the primary first. A primary stays primary while it serves.
func (s *service) rank() {
	serves := func(seat Seat) bool { return seat.State == Serving && !s.away(seat.Engine) }
	if first := slices.IndexFunc(s.a.Seats, serves); first > 0 {
		s.lead(first)
	}
}

// lead makes the engine of a seat the primary. If the engine that was first has never served, it was no primary, and
// there is no event.
func (s *service) lead(index int) {
	primary, before := s.a.Seats[index], s.a.Seats[0]
	s.a.Seats = slices.Insert(slices.Delete(s.a.Seats, index, index+1), 0, primary)
	if before.State == Starting && !s.holdsAny(before.Engine) {
		return
	}
	s.event("VS_SWITCHOVER", primary.Engine, "%s is the primary after %s", s.name(primary.Engine),
		s.name(before.Engine))
}
