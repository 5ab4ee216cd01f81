package place

import (
	"net/netip"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// steadyAfter is how long an engine must have had a session with a router before it takes over from an engine without
// one. After a restart of the router, engines get their sessions back one by one, each when it tries again. Nothing
// moves in this time.
const steadyAfter = 20 * time.Second

// Session is what an engine has reported about a BGP session with a router.
type Session struct {
	Up    bool
	Since time.Time // of Up; not before the controller began
}

// Reach tells whether routers can know a route to a virtual service on an engine.
type Reach struct {
	State ReachState
	Since time.Time  // of Up and Down
	Cut   netip.Addr // if Down: a router without a session
}

// ReachState is the combined state of the sessions.
type ReachState int

const (
	Unknown ReachState = iota // the engine has not reported on the sessions
	Up                        // each address can be told to a router, or is for no router
	Down                      // an address cannot be told to any router
)

// ReachOf combines the sessions of an engine, by the router's address.
func ReachOf(vs *model.VirtualService, sessions map[netip.Addr]Session) Reach {
	reach := Reach{State: Up}
	for _, address := range vs.Addresses {
		routers := vs.RoutersOf(address)
		if len(routers) == 0 {
			continue
		}
		if of := reachOf(routers, sessions); of.State != Up {
			return of
		} else if of.Since.After(reach.Since) {
			reach.Since = of.Since
		}
	}
	return reach
}

// routes returns the routers of each address, as text. Virtual services with the same routes have the same reach on
// each engine.
func routes(all []*model.VirtualService) string {
	var text []byte
	for _, vs := range all {
		for _, address := range vs.Addresses {
			for _, router := range vs.RoutersOf(address) {
				text = append(router.AppendTo(text), ' ')
			}
			text = append(text, ';')
		}
	}
	return string(text)
}

// reachOf returns the reach of one address, for which one session is enough. It has been up since the first session
// came up, and down since the last one went down.
func reachOf(routers []netip.Addr, sessions map[netip.Addr]Session) Reach {
	var reach Reach
	for _, router := range routers {
		session, said := sessions[router]
		switch {
		case !said:
		case session.Up && (reach.State != Up || session.Since.Before(reach.Since)):
			reach = Reach{State: Up, Since: session.Since}
		case !session.Up && (reach.State == Unknown || reach.State == Down && session.Since.After(reach.Since)):
			reach = Reach{State: Down, Since: session.Since, Cut: router}
		}
	}
	return reach
}

// away tells whether others take over from an engine: it is lost, or cut off from its routers.
func (s *service) away(engine string) bool {
	away, known := s.gone[engine]
	if !known {
		lost, end := s.lost(engine)
		s.again(end)
		away = lost || s.cutOff(engine)
		s.gone[engine] = away
	}
	return away
}

func (s *service) cutOff(engine string) bool { return len(s.cutOffOf([]string{engine})) > 0 }

// cutOffOf returns those of the engines that clients have not reached for a while, while they would reach another one.
// If clients reach no engine, the routers are the cause, and nothing moves. It looks at all engines, because each may
// ask for another decision.
func (s *service) cutOffOf(engines []string) []string {
	var cutOff []string
	for _, engine := range engines {
		if s.hasNoRouter(engine) {
			cutOff = append(cutOff, engine)
		}
	}
	if len(cutOff) == 0 || !s.anotherIsReached() {
		return nil
	}
	return cutOff
}

// hasNoRouter tells whether an engine that is up has had no router for a while, and its group has
// bgp_peer_monitor_failover_enabled.
func (s *service) hasNoRouter(engine string) bool {
	if !s.group.BGPPeerMonitorFailover || !s.up(engine) {
		return false
	}
	reach := s.reach(engine)
	if reach.State != Down {
		return false
	}
	end := reach.Since.Add(patience(s.engines[engine]))
	s.again(end)
	return !end.After(s.in.Now)
}

func (s *service) anotherIsReached() bool {
	for _, engine := range s.group.Engines {
		reach := s.reach(engine.UUID)
		if !s.up(engine.UUID) || reach.State != Up {
			continue
		}
		steady := reach.Since.Add(steadyAfter)
		if !steady.After(s.in.Now) {
			return true
		}
		s.again(steady)
	}
	return false
}

// unreached ranks engines to which routers know a route before the others.
func (s *service) unreached(engine *model.Engine) int {
	if s.reach(engine.UUID).State == Up {
		return 0
	}
	return 1
}
