package dataplane

import (
	"errors"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// downMin is how many Samples since a Plan must have come before a virtual service that is down listens no more. The
// first Sample may be from before the data plane knew which servers are up.
const downMin = 2

// tend has virtual services that listen only while they are up do so, by the servers that the data plane goes to. A
// socket that is shut stays bound, so that no other program gets its port. The data plane has it, too, and needs no
// word: it is told by the kernel. A new data plane takes sockets that are shut.
func (s *Supervisor) tend(up map[plan.Member]bool) {
	s.samples++
	held := s.rollout.served()
	if held == nil {
		return
	}
	var failed error
	for i := range held.Conditionals {
		conditional := &held.Conditionals[i]
		isUp := conditional.IsUp(up)
		if !isUp && s.samples < downMin {
			continue
		}
		changed, err := s.sockets.setListening(s.placesOf(conditional), isUp)
		failed = errors.Join(failed, err)
		if changed {
			s.Log.Info("a virtual service listens while it is up", "uuid", conditional.Service, "listens", isUp)
		}
	}
	s.complain(failed)
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

// listenAlways has places listen that are not conditional any more.
func (s *Supervisor) listenAlways(held *plan.Plan, all places) {
	conditional := map[string]bool{}
	for i := range held.Conditionals {
		conditional[held.Conditionals[i].Service] = true
	}
	free := maps.Clone(all)
	maps.DeleteFunc(free, func(_ slot, listener plan.Listener) bool { return conditional[listener.Service.UUID] })
	_, err := s.sockets.setListening(free, true)
	s.complain(err)
}

// complain logs an error once; the next Sample tries again.
func (s *Supervisor) complain(err error) {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != s.failure {
		s.Log.Error("a virtual service is up, and cannot listen", "reason", failure)
	}
	s.failure = failure
}

// setListening has sockets listen or not. Workers begin in their order, as at first.
func (s sockets) setListening(all places, listens bool) (changed bool, failed error) {
	for _, place := range slices.SortedFunc(maps.Keys(all), compareSlots) {
		descriptor, have := s[place]
		if !have || place.protocol != plan.ProtocolTCP || isListening(descriptor) == listens {
			continue
		}
		var err error
		if listens {
			err = unix.Listen(descriptor, backlog)
		} else {
			err = unix.Shutdown(descriptor, unix.SHUT_RD)
		}
		if err != nil {
			return changed, &listenError{all[place], err}
		}
		changed = true
	}
	return changed, nil
}

// isListening tells whether a TCP socket takes connections.
func isListening(descriptor int) bool {
	listens, err := unix.GetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && listens != 0
}
