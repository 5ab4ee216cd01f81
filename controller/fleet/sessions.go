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
func (e *Engine) hearRouting(routing *enginev1.Routing, now time.Time) {
	sessions := make(map[netip.Addr]place.Session, len(routing.GetPeers()))
	for _, peer := range routing.GetPeers() {
		at, err := netip.ParseAddr(peer.GetAddress())
		if err != nil {
			continue // of no router that a Plan names
		}
		session := place.Session{Up: IsUp(peer), Since: now}
		if before, known := e.sessions[at]; known && before.Up == session.Up {
			session = before
		}
		sessions[at] = session
	}
	e.Routing, e.sessions, e.announced = routing, sessions, announcedIn(routing)
	e.holdings.unknown = true
}

// announcedIn are the virtual services of which a router hears.
func announcedIn(routing *enginev1.Routing) map[string]bool {
	announced := map[string]bool{}
	for _, route := range routing.GetRoutes() {
		for _, uuid := range route.GetVirtualServiceUuids() {
			announced[uuid] = announced[uuid] || len(route.GetPeers()) > 0
		}
	}
	return announced
}

// CutOff is why no router can lead clients of a virtual service to the engine; empty: one can.
func (e *Engine) CutOff(vs *model.VirtualService) string {
	if vs == nil {
		return ""
	}
	reach := place.ReachOf(vs, e.sessions)
	if reach.State != place.Down {
		return ""
	}
	for _, peer := range e.Routing.GetPeers() {
		if peer.GetAddress() == reach.Cut.String() {
			return fmt.Sprintf("has no BGP session with %s: %s", reach.Cut, peer.GetReason())
		}
	}
	return fmt.Sprintf("has no BGP session with %s", reach.Cut)
}

// Announces tells whether a router hears of a virtual service from this engine.
func (e *Engine) Announces(uuid string) bool { return e.IsConnected() && e.announced[uuid] }

// PeersUp is false while a session that the engine shall have is not there.
func (e *Engine) PeersUp() bool {
	for _, peer := range e.Routing.GetPeers() {
		if !IsUp(peer) {
			return false
		}
	}
	return true
}

// IsUp tells whether a BGP session is established.
func IsUp(peer *enginev1.PeerState) bool {
	return peer.GetState() == enginev1.BgpState_BGP_STATE_ESTABLISHED
}
