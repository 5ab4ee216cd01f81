package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// Routing is everything that the engine reports about BGP.
type Routing struct {
	Peers   []PeerState      // sorted by address
	Routes  []AnnouncedRoute // sorted by prefix
	NextHop netip.Addr       // next hop of its routes, and address for other engines; invalid: none yet
}

// PeerState is the present state of a session with a router.
type PeerState struct {
	Address          netip.Addr
	Label            string
	LocalAS          uint32
	RemoteAS         uint32
	LocalAddress     string // of the session; empty while there is none
	RouterID         string // of the router; the same
	State            BGPState
	SinceUnixMs      uint64
	Reason           string // last error of a session that is down
	EstablishedCount uint32
	BFD              BFDState
	HoldS            uint32 // negotiated
}

// BGPState is that of a session (RFC 4271 §8.2.2); 0: it is not known.
type BGPState uint8

const (
	SessionIdle BGPState = iota + 1
	Connect
	Active
	OpenSent
	OpenConfirm
	Established
)

// BFDState is the state of BFD for a session (RFC 5880 §6.2).
type BFDState uint8

const (
	BFDOff BFDState = iota
	BFDDown
	BFDInit
	BFDUp
)

// AnnouncedRoute is a route that routers have.
type AnnouncedRoute struct {
	Prefix          netip.Prefix
	Peers           []netip.Addr // those that hear of it now
	Communities     []uint32
	LocalPreference uint32
	ASPathPrepend   uint32
	Services        []string // uuids
	SinceUnixMs     uint64
}

// Event is something that happened to a session with a router.
type Event struct {
	UnixMs  uint64
	ID      string
	VRF     string // uuid
	Message string
}

func (r *Routing) same(other *Routing) bool {
	return r.NextHop == other.NextHop && slices.Equal(r.Peers, other.Peers) &&
		slices.EqualFunc(r.Routes, other.Routes, sameReport)
}

func sameReport(a, b AnnouncedRoute) bool {
	return a.Prefix == b.Prefix && slices.Equal(a.Peers, b.Peers) && slices.Equal(a.Communities, b.Communities) &&
		a.LocalPreference == b.LocalPreference && a.ASPathPrepend == b.ASPathPrepend &&
		slices.Equal(a.Services, b.Services) &&
		a.SinceUnixMs == b.SinceUnixMs
}

// peerStateChange is Avi's id of the event that a session with a router began or ended.
const peerStateChange = "SE_BGP_PEER_STATE_CHANGE"

// tellOf reports sessions and routes if something has changed.
func (s *Set) tellOf(peers []PeerState) {
	report := &Routing{Peers: peers, NextHop: s.nextHop()}
	for _, route := range s.announced {
		report.Routes = append(report.Routes, route.report(s.speaker.peers))
	}
	s.mu.Lock()
	before := s.report
	s.report, s.keepsRoutes, s.toldBy = report, s.speaker.keepsRoutes(), s.speaker.toldBy()
	s.mu.Unlock()
	if before.same(report) {
		return
	}
	router := s.router()
	for _, event := range changes(before, report, router.Name) {
		s.Log.Info("BGP", "event", event.ID, "message", event.Message)
		event.UnixMs, event.VRF = uint64(time.Now().UnixMilli()), router.UUID
		s.Happened(event)
	}
	s.Changed(report)
}

// nextHop is the address at which other engines reach this one; invalid: there is none. It stays the same when the
// agent is replaced.
func (s *Set) nextHop() netip.Addr {
	from := speaksFrom(s.speaker.peers)
	if s.speaker.follows {
		from = Addresses(s.Plan)
	}
	if len(from) == 0 {
		return netip.Addr{}
	}
	return from[0]
}

// router is the router of the current Plan; empty: there is none.
func (s *Set) router() plan.Router {
	s.mu.Lock()
	defer s.mu.Unlock()
	if router := s.facts.spoken().BGP(); router != nil {
		return *router
	}
	return plan.Router{}
}

// report names the peers that have the route now.
func (a *announced) report(peers map[netip.Addr]*session) AnnouncedRoute {
	report := AnnouncedRoute{
		Prefix: a.Prefix, Communities: communitiesOf(a.Route), LocalPreference: a.LocalPreference,
		ASPathPrepend: a.ASPathPrepend, Services: a.Services, SinceUnixMs: a.sinceUnixMs,
	}
	for _, address := range slices.SortedFunc(maps.Keys(peers), netip.Addr.Compare) {
		if peer := peers[address]; peer.up && a.isFor(&peer.config) {
			report.Peers = append(report.Peers, address)
		}
	}
	return report
}

// changes are the sessions that began or ended between two reports. A session that never began has not ended.
func changes(before, after *Routing, vrf string) []Event {
	were := map[netip.Addr]bool{}
	for _, peer := range before.Peers {
		were[peer.Address] = established(peer)
	}
	var events []Event
	say := func(format string, arguments ...any) {
		events = append(events, Event{ID: peerStateChange, Message: fmt.Sprintf(format, arguments...)})
	}
	for _, peer := range after.Peers {
		switch was := were[peer.Address]; {
		case !was && established(peer):
			say("BGP peer %s of AS %d in %s is up", peer.Address, peer.RemoteAS, vrf)
		case was && !established(peer):
			say("BGP peer %s of AS %d in %s is down: %s", peer.Address, peer.RemoteAS, vrf, peer.Reason)
		}
		delete(were, peer.Address)
	}
	for _, peer := range before.Peers {
		if were[peer.Address] {
			say("BGP peer %s of AS %d in %s is spoken to no more", peer.Address, peer.RemoteAS, vrf)
		}
	}
	return events
}

func established(peer PeerState) bool { return peer.State == Established }
