package fleet

import (
	"fmt"
	"net/netip"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// hearRouting takes what an engine says of its BGP. When a session came or went is by the clock of this controller:
// engines have others.
func (e *engine) hearRouting(routing *enginev1.Routing, now time.Time) {
	sessions := make(map[netip.Addr]place.Session, len(routing.GetPeers()))
	for _, peer := range routing.GetPeers() {
		at, err := netip.ParseAddr(peer.GetAddress())
		if err != nil {
			continue // of no router that a Plan names
		}
		session := place.Session{Up: isUp(peer), Since: now}
		if before, known := e.sessions[at]; known && before.Up == session.Up {
			session = before
		}
		sessions[at] = session
	}
	e.routing, e.sessions, e.announced = routing, sessions, announcedIn(routing)
	e.holdings.unknown = true
}

// cutOff is why no router can lead clients of a virtual service to the engine; empty: one can.
func (e *engine) cutOff(vs *model.VirtualService) string {
	if vs == nil {
		return ""
	}
	reach := place.ReachOf(vs, e.sessions)
	if reach.State != place.Down {
		return ""
	}
	for _, peer := range e.routing.GetPeers() {
		if peer.GetAddress() == reach.Cut.String() {
			return fmt.Sprintf("has no BGP session with %s: %s", reach.Cut, peer.GetReason())
		}
	}
	return fmt.Sprintf("has no BGP session with %s", reach.Cut)
}
