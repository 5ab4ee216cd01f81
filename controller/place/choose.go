package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
)

// choose returns the best engine for a new seat; nil, and the reasons, if there is none.
func (s *service) choose() (*model.Engine, string) {
	may := func(engine *model.Engine) bool { return s.objection(engine) == "" }
	if engine := s.best(may); engine != nil {
		return engine, ""
	}
	return nil, s.whyNone()
}

// chooseStandby returns the best engine to stand by; nil: there is none. It does not listen yet.
func (s *service) chooseStandby() *model.Engine {
	return s.best(func(engine *model.Engine) bool {
		return s.a.seat(engine.UUID) == nil && s.ownObjection(engine) == ""
	})
}

// chooseFresh returns the best engine with nothing on it; nil, and the reason, if there is none.
func (s *service) chooseFresh() (*model.Engine, string) {
	may := func(engine *model.Engine) bool { return s.load[engine.UUID] == 0 && s.objection(engine) == "" }
	if engine := s.best(may); engine != nil {
		return engine, ""
	}
	return nil, fmt.Sprintf("group %s has no unused engine yet", s.group.Name)
}

// best returns the best of the engines that may take a seat; nil: there is none.
func (s *service) best(may func(*model.Engine) bool) *model.Engine {
	s.restless = true
	var candidates []*model.Engine
	for _, engine := range s.group.Engines {
		if may(engine) {
			candidates = append(candidates, engine)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, s.compare)
}

// objection returns the reason why an engine cannot take a seat; empty: it can.
func (s *service) objection(engine *model.Engine) string {
	if why := s.ownObjection(engine); why != "" {
		return why
	}
	listener := s.listenerBeside(engine)
	if listener == "" {
		return ""
	}
	goes := s.a.seat(listener)
	switch at := s.in.Engines[engine.UUID]; {
	case !s.isHeard(listener):
		return fmt.Sprintf("may have the same addresses as %s, which has not connected yet", s.name(listener))
	case goes == nil && !s.listens(listener):
		return fmt.Sprintf("has the same addresses as %s, which has not reported yet what it has", s.name(listener))
	case goes == nil || goes.Cause != Disabled || goes.counts():
	case at.Plan == Refused:
		return "refuses its Plan: " + at.Refuses
	case s.in.Engines[listener].Plan == Refused:
		return fmt.Sprintf("waits for %s, which refuses its Plan: %s", s.name(listener), s.in.Engines[listener].Refuses)
	case s.a.seat(engine.UUID) != nil:
		return fmt.Sprintf("takes over once %s has stopped", s.name(listener))
	}
	return fmt.Sprintf("has the same addresses as %s, where it listens", s.name(listener))
}

// ownObjection is the part of objection that does not depend on what engines in the same network do.
func (s *service) ownObjection(engine *model.Engine) string {
	seat := s.a.seat(engine.UUID)
	has := seat != nil && !seat.isEnding()
	idle := s.load[engine.UUID] == 0
	switch {
	case has && seat.State != Standby:
		return "has it"
	case engine.EnableState != "SE_STATE_ENABLED":
		return "is not enabled"
	case !s.up(engine.UUID):
		return "is not up"
	case s.cutOff(engine.UUID):
		return fmt.Sprintf("has no BGP session with %s", s.reach(engine.UUID).Cut)
	case s.shuns(engine.UUID):
		return s.whyShunned(engine.UUID)
	case s.load[engine.UUID] >= int(s.group.MaxVSPerSE) && !has:
		return fmt.Sprintf("has %d virtual services, which is max_vs_per_se", s.load[engine.UUID])
	case idle && s.isFull():
		return fmt.Sprintf("would be one more engine in use than max_se, which is %d", s.group.MaxSE)
	}
	return ""
}

func (s *service) shuns(engine string) bool {
	return slices.ContainsFunc(s.a.Shunned, func(shun Shun) bool {
		return shun.Engine == engine && shun.Until.After(s.in.Now)
	})
}

func (s *service) whyShunned(engine string) string {
	for _, shun := range s.a.Shunned {
		if shun.Engine == engine && shun.Outages > 1 {
			return fmt.Sprintf("failed to start it %d times, and is not tried again before %s, except by retryplacement",
				shun.Outages, shun.Until.UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return "failed to start it a while ago"
}

// isFull tells whether max_se engines of the group are in use. Engines that are away do not count: others take over
// from them.
func (s *service) isFull() bool {
	var inUse []string
	for _, engine := range s.group.Engines {
		if s.load[engine.UUID] > 0 {
			inUse = append(inUse, engine.UUID)
		}
	}
	if len(inUse) < int(s.group.MaxSE) {
		return false
	}
	return len(slices.DeleteFunc(inUse, s.away)) >= int(s.group.MaxSE)
}

// whyNone returns the reasons why no engine can take a seat: up to three engines by name, and the number of the others.
func (s *service) whyNone() string {
	var reasons []string
	for _, engine := range s.group.Engines {
		if why := s.objection(engine); why != "has it" {
			reasons = append(reasons, fmt.Sprintf("%s %s", engine.Name, why))
		}
	}
	if len(reasons) == 0 {
		return fmt.Sprintf("group %s has no engine left: let one join", s.group.Name)
	}
	const listed = 3
	if more := len(reasons) - listed; more > 0 {
		reasons = append(reasons[:listed], fmt.Sprintf("and %d more cannot take it", more))
	}
	return strings.Join(reasons, ", ")
}

// compare ranks two engines that could take a seat, the better one first. It prefers, in this order: the standby; an
// engine to which routers know a route; the host with the fewest seats, if the group wants separate hosts; an engine
// that still has a draining seat; the zone with the fewest seats. Then the group's algorithm decides, and then the CPU
// load. The name decides last, so that the result is always the same.
func (s *service) compare(a, b *model.Engine) int {
	by := func(measure func(*model.Engine) int) int { return cmp.Compare(measure(a), measure(b)) }
	return cmp.Or(
		by(s.notYetStandby),
		by(s.unreached),
		by(s.onSameHost),
		by(s.notYetThere),
		by(s.inSameZone),
		by(s.crowding),
		cmp.Compare(s.in.Engines[a.UUID].CPUPercent, s.in.Engines[b.UUID].CPUPercent),
		strings.Compare(a.Name, b.Name),
		strings.Compare(a.UUID, b.UUID),
	)
}

func (s *service) notYetStandby(engine *model.Engine) int {
	if seat := s.a.seat(engine.UUID); seat != nil && seat.State == Standby {
		return 0
	}
	return 1
}

func (s *service) notYetThere(engine *model.Engine) int {
	if s.a.seat(engine.UUID) != nil {
		return 0
	}
	return 1
}

func (s *service) onSameHost(engine *model.Engine) int {
	host := s.in.Engines[engine.UUID].Host
	if !s.group.VSHostRedundancy || host == "" {
		return 0
	}
	return s.neighbours(func(other *model.Engine) bool { return s.in.Engines[other.UUID].Host == host })
}

func (s *service) inSameZone(engine *model.Engine) int {
	if engine.AvailabilityZone == "" {
		return 0
	}
	return s.neighbours(func(other *model.Engine) bool { return other.AvailabilityZone == engine.AvailabilityZone })
}

// neighbours counts the nearby engines whose seats are to stay.
func (s *service) neighbours(near func(*model.Engine) bool) int {
	count := 0
	for _, seat := range s.a.Seats {
		if (seat.counts() || seat.State == Standby) && near(s.engines[seat.Engine]) && !s.away(seat.Engine) {
			count++
		}
	}
	return count
}

// crowding ranks engines by the number of their seats. Compact placement fills one engine before the next, distributed
// placement takes the emptiest one. If a group distributes the load between active and standby engines, standby seats
// do not count.
func (s *service) crowding(engine *model.Engine) int {
	if s.group.HAMode == legacyMode && s.group.DistributeStandby {
		return s.active[engine.UUID]
	}
	if s.group.PlacementAlgorithm == "PLACEMENT_ALGO_DISTRIBUTED" {
		return s.load[engine.UUID]
	}
	return -s.load[engine.UUID]
}
