package dataplane

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// downMin is how many Samples must have come, since a Plan changed it, before a virtual service that is down listens no
// more. The first Sample may be from before the data plane knew which servers are up.
const downMin = 2

// tend has virtual services that listen only while they are up do so, by the servers that the data plane goes to. A
// socket that is shut stays bound, so that no other program gets its port. The data plane has it, too, and needs no
// word: it is told by the kernel. A new data plane takes sockets that are shut. The agent looks at the sockets only
// when the servers have changed, after a Plan, and after an error.
func (s *Supervisor) tend(up map[plan.Member]bool) {
	s.samples++
	held := s.rollout.served()
	if held == nil {
		return
	}
	failed := s.listenOverdue()
	for i := range held.Conditionals {
		conditional := &held.Conditionals[i]
		isUp := conditional.IsUp(up)
		if listens, known := s.settled[conditional.Service]; known && listens == isUp ||
			!isUp && s.samples-s.since[conditional.Service] < downMin {
			continue
		}
		changed, errs := s.sockets.setListening(s.placesOf(conditional), isUp, s.Segments)
		if failed = append(failed, errs...); len(errs) == 0 {
			s.settled[conditional.Service] = isUp
		} else {
			delete(s.settled, conditional.Service)
		}
		if changed {
			s.Log.Info("a virtual service listens while it is up", "uuid", conditional.Service, "listens", isUp)
		}
	}
	s.complain(failed)
}

// giveTime has conditional virtual services that a Plan has changed, or whose pools it has, wait for the states of
// their servers. Others go on as they were, however often Plans come.
func (s *Supervisor) giveTime(held *plan.Plan) {
	if s.step.whole {
		s.samples = 0
		clear(s.since)
		return
	}
	services, pools, since := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, listener := range s.step.comes {
		services[listener.Service.UUID] = true
	}
	for _, member := range s.step.members {
		pools[member.Pool] = true
	}
	isNew := func(pool *plan.Pool) bool { return pools[pool.UUID] }
	for i := range held.Conditionals {
		conditional := &held.Conditionals[i]
		since[conditional.Service] = s.since[conditional.Service]
		if services[conditional.Service] || slices.ContainsFunc(conditional.Pools, isNew) ||
			slices.ContainsFunc(conditional.Counted, isNew) {
			since[conditional.Service] = s.samples
		}
	}
	s.since = since
}

// placesOf are the places of a virtual service that serve: another Plan may be on its way.
func (s *Supervisor) placesOf(conditional *plan.Conditional) places {
	all := placesOf(conditional.Listeners, s.workers)
	maps.DeleteFunc(all, func(place slot, _ plan.Listener) bool {
		_, serves := s.serving[place]
		return !serves
	})
	return all
}

// listenAlways has places listen that are not conditional any more. Those that cannot yet are tried again with each
// Sample, which also logs why.
func (s *Supervisor) listenAlways(held *plan.Plan, all places) {
	conditional := map[string]bool{}
	for i := range held.Conditionals {
		conditional[held.Conditionals[i].Service] = true
	}
	for place, listener := range all {
		switch {
		case conditional[listener.Service.UUID]:
			delete(s.overdue, place)
		case place.protocol == plan.ProtocolTCP && !isListening(s.sockets[place]):
			s.overdue[place] = listener
		}
	}
	s.listenOverdue()
}

// listenOverdue has places listen that have to whatever is up, and forgets those that do, and those that serve no more.
func (s *Supervisor) listenOverdue() []*listenError {
	maps.DeleteFunc(s.overdue, func(place slot, _ plan.Listener) bool {
		_, serves := s.serving[place]
		return !serves
	})
	_, failed := s.sockets.setListening(s.overdue, true, s.Segments)
	maps.DeleteFunc(s.overdue, func(place slot, _ plan.Listener) bool { return isListening(s.sockets[place]) })
	return failed
}

// complain logs each error once while it lasts; the next Sample tries again.
func (s *Supervisor) complain(failed []*listenError) {
	lasting := map[string]bool{}
	for _, failure := range failed {
		reason := failure.Error()
		if lasting[reason] = true; !s.failures[reason] {
			s.Log.Error("a socket is not as its virtual service wants it; the agent tries again each second", "uuid",
				failure.Service.UUID, "name", failure.Service.Name, "reason", reason)
		}
	}
	s.failures = lasting
}

// setListening has sockets listen or not. Workers begin in their order, as at first. After an error it goes on with the
// other sockets. Of each address, it returns the first error.
func (s sockets) setListening(all places, listens bool, segments Segments) (changed bool, failed []*listenError) {
	for _, place := range slices.SortedFunc(maps.Keys(all), compareSlots) {
		descriptor, have := s[place]
		if !have || place.protocol != plan.ProtocolTCP || isListening(descriptor) == listens {
			continue
		}
		var err error
		if listens { // the kernel forgets the limit of a socket that is shut
			limitSegment(place, descriptor, segments.MaxSegment(place.at.Addr()))
			err = unix.Listen(descriptor, backlog)
		} else {
			err = unix.Shutdown(descriptor, unix.SHUT_RD)
		}
		switch {
		case err == nil:
			changed = true
		case len(failed) == 0 || failed[len(failed)-1].At != place.at:
			failed = append(failed, &listenError{all[place], !listens, err})
		}
	}
	return changed, failed
}

// isListening tells whether a TCP socket takes connections.
func isListening(descriptor int) bool {
	listens, err := unix.GetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && listens != 0
}
