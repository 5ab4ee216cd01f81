package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/plan"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// peerStateChange is Avi's id of the event that a session with a router begins or ends.
const peerStateChange = "SE_BGP_PEER_STATE_CHANGE"

// tellOf reports sessions and routes when something about them is new.
func (s *Set) tellOf(peers []*enginev1.PeerState) {
	report := &enginev1.Routing{Peers: peers, NextHop: s.nextHop()}
	for _, route := range s.announced {
		report.Routes = append(report.Routes, route.report(s.speaker.peers))
	}
	s.mu.Lock()
	before := s.report
	s.report, s.keepsRoutes, s.toldBy = report, s.speaker.keepsRoutes(), s.speaker.toldBy()
	s.mu.Unlock()
	if proto.Equal(before, report) {
		return
	}
	router := s.router()
	for _, event := range changes(before, report, router.Name) {
		s.Log.Info("BGP", "event", event.GetId(), "message", event.GetMessage())
		event.UnixMs, event.ObjectUuid = uint64(time.Now().UnixMilli()), router.UUID
		s.Happened(event)
	}
	s.Changed(report)
}

// nextHop is where other engines find this one; empty: nowhere. One whose agent was replaced stays where it was.
func (s *Set) nextHop() string {
	from := speaksFrom(s.speaker.peers)
	if s.speaker.follows {
		from = Addresses(s.Plan)
	}
	if len(from) == 0 {
		return ""
	}
	return from[0].String()
}

// router is the one that is spoken for; without any, all of it is empty.
func (s *Set) router() plan.Router {
	s.mu.Lock()
	defer s.mu.Unlock()
	if router := s.facts.spoken().BGP(); router != nil {
		return *router
	}
	return plan.Router{}
}

// report names the peers that hear of the route now.
func (a *announced) report(peers map[netip.Addr]*session) *enginev1.AnnouncedRoute {
	report := &enginev1.AnnouncedRoute{
		Prefix: a.Prefix.String(), Communities: communitiesOf(a.Route), LocalPreference: a.LocalPreference,
		AsPathPrepend: a.ASPathPrepend, VirtualServiceUuids: a.Services, SinceUnixMs: a.sinceUnixMs,
	}
	for _, address := range slices.SortedFunc(maps.Keys(peers), netip.Addr.Compare) {
		if peer := peers[address]; peer.up && a.isFor(&peer.config) {
			report.Peers = append(report.Peers, address.String())
		}
	}
	return report
}

// changes are the sessions that began or ended between two reports. One that was never there has not ended.
func changes(before, after *enginev1.Routing, vrf string) []*enginev1.Event {
	were := map[string]bool{}
	for _, peer := range before.GetPeers() {
		were[peer.GetAddress()] = established(peer)
	}
	var events []*enginev1.Event
	say := func(format string, arguments ...any) {
		events = append(events, &enginev1.Event{Id: peerStateChange, ObjectKind: "vrfcontext", Message: fmt.Sprintf(format, arguments...)})
	}
	for _, peer := range after.GetPeers() {
		switch was := were[peer.GetAddress()]; {
		case !was && established(peer):
			say("BGP peer %s of AS %d in %s is up", peer.GetAddress(), peer.GetRemoteAs(), vrf)
		case was && !established(peer):
			say("BGP peer %s of AS %d in %s is down: %s", peer.GetAddress(), peer.GetRemoteAs(), vrf, peer.GetReason())
		}
		delete(were, peer.GetAddress())
	}
	for _, peer := range before.GetPeers() {
		if were[peer.GetAddress()] {
			say("BGP peer %s of AS %d in %s is spoken to no more", peer.GetAddress(), peer.GetRemoteAs(), vrf)
		}
	}
	return events
}

func established(peer *enginev1.PeerState) bool {
	return peer.GetState() == enginev1.BgpState_BGP_STATE_ESTABLISHED
}
