package route

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"github.com/weir-lb/weir/agent/plan"
)

// stage is a speaker and how its sessions are heard of.
type stage struct {
	*speaker
	changes chan struct{}
}

func newStage(t *testing.T, port uint16) *stage {
	s := &stage{changes: make(chan struct{}, 1)}
	s.speaker = newSpeaker(func() string { return "se-1" }, func() {
		select {
		case s.changes <- struct{}{}:
		default:
		}
	}, slog.New(slog.DiscardHandler))
	s.port = port
	t.Cleanup(s.stop)
	return s
}

// peer is the configuration of a session with a router on loopback; from it, the subnet makes the engine speak.
func peerAt(address netip.Addr, as, remoteAS uint32) plan.Peer {
	subnet := prefix("127.0.0.1/32")
	if address.Is6() {
		subnet = prefix("::1/128")
	}
	return plan.Peer{
		Address: address, Subnet: subnet, LocalAS: as, RemoteAS: remoteAS, Keepalive: 3 * time.Second,
		Hold:         9 * time.Second,
		ConnectRetry: time.Second, AdvertisesVIPs: true,
		MultihopTTL: 2, // addresses of loopback are not on one link
	}
}

// watchedPeerAt is one of this system with BFD.
func watchedPeerAt(address netip.Addr) plan.Peer {
	peer := peerAt(address, 65000, 65000)
	peer.BFD = plan.BFD{On: true, MinTx: 300 * time.Millisecond, MinRx: 300 * time.Millisecond, Multiplier: 3}
	return peer
}

func routerWith(as uint32, peers ...plan.Peer) *plan.Router {
	return &plan.Router{UUID: "vrfcontext-1", Name: "global", LocalAS: as, Peers: peers}
}

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// untilState waits for a state of the session with a peer.
func (s *stage) untilState(t *testing.T, peer string, wanted func(PeerState) bool) PeerState {
	t.Helper()
	limit := time.After(patience)
	for {
		states := s.states()
		for _, state := range states {
			if state.Address.String() == peer && wanted(state) {
				return state
			}
		}
		select {
		case <-s.changes:
		case <-limit:
			t.Fatalf("sessions: %v", states)
		}
	}
}

func TestInternalRouterHearsOfRoutesUntilTheyAreWithdrawn(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65000)), nil))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32"), LocalPreference: 300, Communities: []uint32{65000<<16 | 7},
		ASPathPrepend: 2}))
	heard := r.hears(t, "3.3.3.3/32")
	for kind, want := range map[bgp.BGPAttrType]string{
		bgp.BGP_ATTR_TYPE_NEXT_HOP: "127.0.0.1", bgp.BGP_ATTR_TYPE_LOCAL_PREF: "300",
		bgp.BGP_ATTR_TYPE_COMMUNITIES: "65000:7", bgp.BGP_ATTR_TYPE_ORIGIN: "i",
	} {
		if got := attribute(heard, kind); !strings.Contains(got, want) {
			t.Errorf("%v: got %q, want %s", kind, got, want)
		}
	}
	if path := attribute(heard, bgp.BGP_ATTR_TYPE_AS_PATH); strings.Contains(path, "65000") {
		t.Errorf("the router would take the route for its own: %s", path)
	}
	state := s.untilState(t, "127.0.0.2", established)
	if state.LocalAddress != "127.0.0.1" || state.RouterID != "192.0.2.254" || state.HoldS != 9 {
		t.Errorf("got %v", state)
	}
	must(t, s.Withdraw(prefix("3.3.3.3/32")))
	r.hearsNoMore(t, "3.3.3.3/32")
}

func TestExternalRouterHearsTheSystemOnceAndAsOftenAsItIsPrepended(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65001, 65000, "")
	s := newStage(t, r.port)
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.4/32"), ASPathPrepend: 2, LocalPreference: 300}))
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65001)), nil))
	heard := r.hears(t, "3.3.3.4/32")
	if path := attribute(heard, bgp.BGP_ATTR_TYPE_AS_PATH); strings.Count(path, "65000") != 3 {
		t.Errorf("the path is %s", path)
	}
	if got := attribute(heard, bgp.BGP_ATTR_TYPE_LOCAL_PREF); got != "" {
		t.Errorf("a router of another system was told a preference: %s", got)
	}
}

func TestIPv6RouteGoesOverASessionOfItsOwnFamily(t *testing.T) {
	six, four := startRouter(t, "::1", 65000, 65000, ""), startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, six.port)
	must(t, s.configure(routerWith(65000, peerAt(six.address, 65000, 65000)), nil))
	must(t, s.Announce(Route{Prefix: prefix("2001:db8::3/128")}))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	if hop := attribute(six.hears(t, "2001:db8::3/128"), bgp.BGP_ATTR_TYPE_MP_REACH_NLRI); !strings.Contains(
		hop, "::1") {
		t.Errorf("the next hop is %s", hop)
	}
	if heard := four.table(); len(heard) != 0 {
		t.Errorf("a router that is no peer heard %v", heard)
	}
}

func TestPeerHearsOnlyTheRoutesOfItsLabel(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	peer := peerAt(r.address, 65000, 65000)
	peer.Label = "left"
	must(t, s.configure(routerWith(65000, peer), nil))
	s.untilState(t, "127.0.0.2", established)
	route := Route{Prefix: prefix("3.3.3.3/32"), Labels: []string{"right"}}
	must(t, s.Announce(route))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.9/32")}))
	r.hears(t, "3.3.3.9/32") // sent after the other
	if attributes := r.table()["3.3.3.3/32"]; attributes != nil {
		t.Errorf("heard a route of another label: %v", attributes)
	}
	route.Labels = []string{"left"}
	must(t, s.Announce(route))
	r.hears(t, "3.3.3.3/32")
	route.Labels = []string{"right"}
	must(t, s.Announce(route))
	r.hearsNoMore(t, "3.3.3.3/32")
}

func TestRouterKnowsOfEachChangeThatWasMadeWhileItsSessionBegan(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	router := routerWith(65000, peerAt(r.address, 65000, 65000))
	must(t, s.configure(router, nil))
	s.changeUntilUp(t)
	must(t, s.configure(router, nil))
	s.isKnownTo(t, r)
}

func TestSessionThatRestartsIsNotEndedByAChangeOfTheRoutes(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	r.keepRoutes(t)
	s := newStage(t, r.port)
	s.keeps, s.follows = true, true
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.9/32")}))
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65000)), nil))
	s.changeUntilUp(t)
	if s.peers[r.address].unsure {
		t.Error("the router would drop the routes that it keeps")
	}
	s.isKnownTo(t, r)
}

// changeUntilUp announces and withdraws routes until the session is established.
func (s *stage) changeUntilUp(t *testing.T) {
	t.Helper()
	for i, up := 0, false; !up; i++ {
		up = established(s.states()[0])
		changing := netip.PrefixFrom(netip.AddrFrom4([4]byte{3, 3, 4, byte(i % 32)}), 32)
		if _, announced := s.routes[changing]; announced {
			must(t, s.Withdraw(changing))
		} else {
			must(t, s.Announce(Route{Prefix: changing}))
		}
	}
}

// isKnownTo checks that a router hears of what is announced, and of nothing else.
func (s *stage) isKnownTo(t *testing.T, r *router) {
	t.Helper()
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	r.hears(t, "3.3.3.3/32") // sent after the others
	heard := r.table()
	for route := range s.routes {
		if heard[route.String()] == nil {
			t.Errorf("%s is announced, and was not heard", route)
		}
	}
	if len(heard) != len(s.routes) {
		t.Errorf("heard of %d routes, and not of %d", len(heard), len(s.routes))
	}
}

func TestSessionIsSignedWithTheSecret(t *testing.T) {
	peer := peerAt(netip.MustParseAddr("127.0.0.2"), 65000, 65000)
	peer.MD5Secret = "s3cret"
	if err := CanSign(); err != nil {
		t.Skip(err)
	}
	r := startRouter(t, peer.Address.String(), 65000, 65000, peer.MD5Secret)
	s := newStage(t, r.port)
	must(t, s.configure(routerWith(65000, peer), nil))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	r.hears(t, "3.3.3.3/32")
}

func TestChangedPeerGetsANewSessionAndTheOthersKeepTheirs(t *testing.T) {
	first := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, first.port)
	one := peerAt(first.address, 65000, 65000)
	must(t, s.configure(routerWith(65000, one), nil))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	first.hears(t, "3.3.3.3/32")
	session := s.peers[first.address]
	other := peerAt(netip.MustParseAddr("127.0.0.4"), 65000, 65000)
	must(t, s.configure(routerWith(65000, one, other), nil))
	if s.peers[first.address] != session || len(s.peers) != 2 {
		t.Errorf("another peer disturbed it: %v", s.peers)
	}
	must(t, s.configure(routerWith(65000, one), nil))
	if s.peers[first.address] != session || len(s.peers) != 1 {
		t.Errorf("a peer that went disturbed it: %v", s.peers)
	}
	changed := peerAt(first.address, 65000, 65000)
	changed.Hold = 12 * time.Second
	must(t, s.configure(routerWith(65000, changed), nil))
	if state := s.untilState(t, "127.0.0.2", established); state.HoldS != 12 {
		t.Errorf("got %v", state)
	}
}

func TestLeavesPeersOfOtherSubnetsAlone(t *testing.T) {
	elsewhere := peerAt(netip.MustParseAddr("127.0.0.2"), 65000, 65000)
	elsewhere.Subnet = prefix("198.51.100.0/24") // kept for documents: no machine is in it (RFC 5737)
	s := newStage(t, 0)
	must(t, s.configure(routerWith(65000, elsewhere), nil))
	if s.bgp != nil || len(s.states()) != 0 {
		t.Errorf("speaks to %v", s.states())
	}
}

func TestSpeaksFromNoAddressThatOtherEnginesHaveToo(t *testing.T) {
	s := newStage(t, 0)
	must(t, s.configure(routerWith(65000, peerAt(netip.MustParseAddr("127.0.0.2"), 65000, 65000)),
		[]netip.Addr{netip.MustParseAddr("127.0.0.1")}))
	if len(s.peers) != 0 {
		t.Errorf("speaks from a VIP: %v", s.states())
	}
}

func TestBFDWatchesASessionThatStandsAndDoesNotDisturbIt(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	s.bfd.Config.Listen = freeForBFD(t)
	hears, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(
		netip.AddrPortFrom(r.address, s.bfd.Config.Listen.Port())))
	must(t, err)
	defer hears.Close()
	must(t, hears.SetReadDeadline(time.Now().Add(patience)))
	peer := watchedPeerAt(r.address)
	must(t, s.configure(routerWith(65000, peer), nil))
	s.untilState(t, "127.0.0.2", established)
	session := s.peers[r.address]
	spoken := make(chan error, 1)
	go func() {
		_, err := hears.Read(make([]byte, 64))
		spoken <- err
	}()
	for begun := false; !begun; must(t, s.configure(routerWith(65000, peer), nil)) {
		select {
		case <-s.changes:
		case err := <-spoken:
			must(t, err)
			begun = true
		}
	}
	if s.peers[r.address] != session {
		t.Error("the session is another one")
	}
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	r.hears(t, "3.3.3.3/32")
	if state := s.untilState(t, "127.0.0.2", established); state.EstablishedCount != 1 || state.BFD != BFDDown {
		t.Errorf("watched by a router without BFD: %v", state)
	}
}

func TestSessionThatEndsBetweenTwoLooksIsBegunAnewWhereBFDWatchedIt(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	s.bfd.Config.Listen = freeForBFD(t)
	router := routerWith(65000, watchedPeerAt(r.address))
	must(t, s.configure(router, nil))
	s.untilState(t, "127.0.0.2", established)
	session := s.peers[r.address]
	r.Stop()
	s.untilState(t, "127.0.0.2", func(p PeerState) bool {
		return !established(p)
	}) // as one that ends while others are configured
	must(t, s.configure(router, nil))
	if next := s.peers[r.address]; next == session || next.count != 1 {
		t.Errorf("BFD goes on with what it had: %+v", next)
	}
	if state := s.states()[0]; !strings.Contains(state.Reason, "notification received") &&
		!strings.Contains(state.Reason, "read failed") {
		t.Errorf("has forgotten why: %v", state)
	}
	session = s.peers[r.address]
	must(t, s.configure(router, nil))
	if s.peers[r.address] != session {
		t.Error("begins again and again")
	}
}

func TestPeerThatCouldNotBeSpokenToIsTriedAgain(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	s.bfd.Config.Listen = freeForBFD(t)
	busy, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(s.bfd.Config.Listen))
	must(t, err)
	peer := watchedPeerAt(r.address)
	if err := s.configure(routerWith(65000, peer), nil); err == nil {
		t.Error("hears BFD where somebody else does")
	}
	must(t, busy.Close())
	must(t, s.configure(routerWith(65000, peer), nil))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	r.hears(t, "3.3.3.3/32")
}

func TestSaysNotOfASessionThatItStandsWhenItHasEnded(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65000)), nil))
	gone := netip.MustParseAddr("127.0.0.9")
	s.note(s.bgp, &apiutil.WatchEventMessage_PeerEvent{Peer: apiutil.Peer{State: apiutil.PeerState{
		NeighborAddress: gone, SessionState: bgp.BGP_FSM_ESTABLISHED,
	}}})
	if state := s.last(gone).state; state != 0 {
		t.Errorf("takes it for %v", state)
	}
}

func TestSaysWhyASessionIsNotThere(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65000)), nil))
	state := s.states()[0]
	if established(state) || !strings.Contains(state.Reason, "neighbor of AS 65000") {
		t.Errorf("before: %v", state)
	}
	s.untilState(t, "127.0.0.2", established)
	r.Stop()
	state = s.untilState(t, "127.0.0.2", func(p PeerState) bool { return !established(p) })
	if reason := state.Reason; !strings.Contains(reason, "notification received") &&
		!strings.Contains(reason, "read failed") {
		t.Errorf("after: %v", state)
	}
}

func TestSaysThatASecretMayBeAnotherOne(t *testing.T) {
	for secret, want := range map[string]bool{"": false, "s3cret": true} {
		waiting := &session{config: plan.Peer{MD5Secret: secret}}
		if lack := waiting.lack(65000); strings.Contains(lack, "md5_secret") != want {
			t.Errorf("%q: %s", secret, lack)
		}
	}
}

func TestHoldsNothingOfFormerSessionsForAPeerThatComesAgain(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	router := routerWith(65000, peerAt(r.address, 65000, 65000))
	must(t, s.configure(router, nil))
	s.untilState(t, "127.0.0.2", established)
	must(t, s.configure(nil, nil))
	r.Stop()
	must(t, s.configure(router, nil))
	if state := s.states()[0]; established(state) || state.EstablishedCount != 0 {
		t.Errorf("nobody answers: %v", state)
	}
}

func TestWithdrawsInTheNextTryWhatItCouldNotBefore(t *testing.T) {
	r := startRouter(t, "127.0.0.2", 65000, 65000, "")
	s := newStage(t, r.port)
	must(t, s.configure(routerWith(65000, peerAt(r.address, 65000, 65000)), nil))
	must(t, s.Announce(Route{Prefix: prefix("3.3.3.3/32")}))
	r.hears(t, "3.3.3.3/32")
	unknown := netip.MustParseAddr("127.0.0.9") // to the library
	s.peers[unknown] = &session{config: s.peers[r.address].config}
	if err := s.Withdraw(prefix("3.3.3.3/32")); err == nil {
		t.Fatal("the library did not refuse")
	}
	if _, kept := s.routes[prefix("3.3.3.3/32")]; !kept {
		t.Error("has forgotten the route that it could not withdraw")
	}
	delete(s.peers, unknown)
	must(t, s.Withdraw(prefix("3.3.3.3/32")))
	r.hearsNoMore(t, "3.3.3.3/32")
}

func TestWhyASessionEndedIsNotHiddenByHowThisEngineEndedIt(t *testing.T) {
	router := netip.MustParseAddr("10.1.0.1")
	ends := func(s *stage, reason api.PeerState_DisconnectReason, message string) string {
		s.note(nil, &apiutil.WatchEventMessage_PeerEvent{Peer: apiutil.Peer{State: apiutil.PeerState{
			NeighborAddress: router, SessionState: bgp.BGP_FSM_IDLE, DisconnectReason: reason,
			DisconnectMessage: message,
		}}})
		return s.last(router).reason
	}
	const reset = "notification-sent code 6(cease) subcode 4(administrative reset)"
	s := newStage(t, 0)
	if got := ends(s, api.PeerState_DISCONNECT_REASON_NOTIFICATION_SENT, reset); got != "notification sent: "+reset {
		t.Errorf("nobody said why: got %q", got)
	}
	s.heard.Store(router, heard{reason: "BFD: the router was silent"})
	if got := ends(s, api.PeerState_DISCONNECT_REASON_NOTIFICATION_SENT, reset); got != "BFD: the router was silent" {
		t.Errorf("BFD ended it: got %q", got)
	}
	if got := ends(s, api.PeerState_DISCONNECT_REASON_HOLD_TIMER_EXPIRED,
		"hold-timer-expired"); got != "hold timer expired" {
		t.Errorf("the next one ended for another reason: got %q", got)
	}
}
