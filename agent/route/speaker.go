package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/config/oc"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/route/bfd"
)

// watchAfter is how long a session stands before BFD watches it: until the router, too, is done with the one before.
const watchAfter = 500 * time.Millisecond

// speaker is the Announcer over BGP: GoBGP in this process, which dials its peers and listens nowhere. Each peer hears
// only what a policy of its own lets through, and nothing that a peer says is taken. It is for one goroutine.
type speaker struct {
	engineUUID func() string
	changed    func() // a session has; may be called from anywhere
	log        *slog.Logger
	port       uint16 // of the peers; 0: that of BGP
	keeps      bool   // what the routes lead to outlives this agent
	follows    bool   // the sessions that begin first may go on with those of the agent before

	bgp    *server.BgpServer // nil: does not speak
	from   origin
	watch  context.CancelFunc
	bfd    *bfd.Watch
	peers  map[netip.Addr]*session
	routes map[netip.Prefix]Route

	heard sync.Map // netip.Addr → heard; the library writes
}

// session is a peer as it is configured, and what the operator reads of it.
type session struct {
	config      plan.Peer
	local       netip.Addr // the address of this engine in the peer's subnet; invalid: the kernel chooses
	mute        string     // why the peer cannot be spoken to at all; empty: it can
	up          bool
	since       time.Time // of up
	count       uint32    // how often it was
	keepsRoutes bool      // the router does, when the session ends without a word
	resumes     bool      // it says that it goes on with the routes of one before, the first time that it is up
	unsure      bool      // whether it heard of the last change of the routes: see heardByAll
}

func newSpeaker(engineUUID func() string, changed func(), log *slog.Logger) *speaker {
	return &speaker{
		engineUUID: engineUUID, changed: changed, log: log, bfd: bfd.New(bfd.Config{Changed: changed}),
		peers: map[netip.Addr]*session{}, routes: map[netip.Prefix]Route{},
	}
}

// configure speaks to the peers of a router that this engine can reach, and not from an address of its VIPs; what stays
// as it was keeps its session. A nil router ends all of them.
func (s *speaker) configure(router *plan.Router, vips []netip.Addr) error {
	wanted := neighbours(router, exceptVIPs(ownAddresses(), vips))
	if s.bgp != nil && (len(wanted) == 0 || s.from != originOf(router)) {
		s.stop()
	}
	if len(wanted) == 0 {
		return nil
	}
	if s.bgp == nil {
		if err := s.start(router, wanted); err != nil {
			return err
		}
	}
	failed := s.bfd.Hear()
	for address, peer := range s.peers {
		next := wanted[address]
		switch {
		case next == nil || !next.same(peer):
			failed = errors.Join(failed, s.remove(address))
		case peer.unsure, s.isSpent(address, peer):
			failed = errors.Join(failed, s.renew(address, peer))
		case peer.up && peer.config.BFD.On && time.Since(peer.since) >= watchAfter:
			s.bfd.Speak(address)
		}
	}
	for _, address := range slices.SortedFunc(maps.Keys(wanted), netip.Addr.Compare) {
		if s.peers[address] == nil {
			failed = errors.Join(failed, s.add(address, wanted[address]))
		}
	}
	return failed
}

func (n *session) same(other *session) bool {
	return n.local == other.local && n.config == other.config
}

// isSpent tells whether a session has ended that BFD watched, or is to end because BFD misses the router. Routers begin
// BFD anew with each session, and so do we.
func (s *speaker) isSpent(address netip.Addr, peer *session) bool {
	if !peer.config.BFD.On {
		return false
	}
	if _, lost := s.bfd.State(address); lost && peer.up {
		s.heard.Store(address, heard{reason: "BFD: the router was silent, or missed this engine"})
		return true
	}
	return s.last(address).ended
}

// renew begins the next session from nothing.
func (s *speaker) renew(address netip.Addr, peer *session) error {
	last := s.last(address)
	err := s.remove(address)
	s.heard.Store(address, heard{reason: last.reason})
	return errors.Join(err, s.add(address, &session{config: peer.config, local: peer.local, count: peer.count}))
}

func (s *speaker) start(router *plan.Router, peers map[netip.Addr]*session) error {
	s.bgp, s.from = server.NewBgpServer(server.LoggerOption(quiet(s.log), new(slog.LevelVar))), originOf(router)
	go s.bgp.Serve()
	watching, stop := context.WithCancel(context.Background())
	s.watch = stop
	global := &api.Global{
		Asn: s.from.as, RouterId: routerID(peers, s.engineUUID()).String(), ListenPort: -1,
		Families: []uint32{uint32(oc.AFI_SAFI_TYPE_IPV4_UNICAST.ToInt()),
			uint32(oc.AFI_SAFI_TYPE_IPV6_UNICAST.ToInt())},
	}
	err := s.bgp.StartBgp(watching, &api.StartBgpRequest{Global: global})
	if err == nil {
		err = s.shut()
	}
	if err == nil {
		library := s.bgp
		err = library.WatchEvent(watching, server.WatchEventMessageCallbacks{
			OnPeerUpdate: func(event *apiutil.WatchEventMessage_PeerEvent, _ time.Time) { s.note(library, event) },
		}, server.WatchPeer())
	}
	if err != nil {
		s.stop()
		return fmt.Errorf("BGP: %w", err)
	}
	s.log.Info("speaking BGP", "as", s.from.as, "router_id", global.GetRouterId())
	for _, route := range s.routes {
		err = errors.Join(err, s.tell(route))
	}
	return err
}

// stop ends every session; routers drop what they were told at once. The routes are told again at the next start.
func (s *speaker) stop() {
	if s.bgp == nil {
		return
	}
	s.bgp.Stop()
	s.forget()
}

// forget drops what is left of sessions that are over.
func (s *speaker) forget() {
	s.watch()
	s.bfd.EndAll()
	s.bgp = nil
	clear(s.peers)
	s.heard.Clear()
}

// add begins a session. What the peer may hear is settled before the first word is said to it.
func (s *speaker) add(address netip.Addr, peer *session) error {
	if err := canSign(&peer.config); err != nil {
		peer.mute, peer.since = err.Error(), time.Now()
		s.log.Error("cannot speak to a BGP peer", "peer", address, "reason", err)
		s.peers[address] = peer
		return nil
	}
	err := s.allow(address, s.prefixesFor(&peer.config))
	if watch := peer.config.BFD; err == nil && watch.On {
		timers := bfd.Timers{MinTx: watch.MinTx, MinRx: watch.MinRx, Multiplier: watch.Multiplier}
		err = s.bfd.Listen(address, peer.local, timers, s.follows)
	}
	if err == nil {
		made := neighbour(address, peer, s.port)
		if s.keeps {
			peer.resumes = s.follows && len(s.routes) > 0
			offerRestart(made, peer.resumes)
		}
		err = s.bgp.AddPeer(context.Background(), &api.AddPeerRequest{Peer: made})
	}
	if err != nil { // the next try finds nothing of this one
		s.bfd.End(address)
		_ = s.disallow(address) // which misses what there is not
		return fmt.Errorf("BGP peer %s: %w", address, err)
	}
	peer.since = time.Now()
	s.peers[address] = peer
	return nil
}

func (s *speaker) remove(address netip.Addr) error {
	mute := s.peers[address].mute != ""
	delete(s.peers, address)
	s.heard.Delete(address)
	s.bfd.End(address)
	if mute {
		return nil
	}
	err := s.bgp.DeletePeer(context.Background(), &api.DeletePeerRequest{Address: address.String()})
	if err := errors.Join(err, s.disallow(address)); err != nil {
		return fmt.Errorf("BGP peer %s: %w", address, err)
	}
	return nil
}

// Announce tells the peers that a route is for. One that is for other peers than before is withdrawn from all first.
func (s *speaker) Announce(route Route) error {
	before, told := s.routes[route.Prefix]
	if told && !slices.Equal(before.Labels, route.Labels) {
		if err := s.Withdraw(route.Prefix); err != nil {
			return err
		}
	}
	if s.bgp != nil {
		if err := s.tell(route); err != nil {
			return err
		}
	}
	s.routes[route.Prefix] = route
	return nil
}

func (s *speaker) tell(route Route) error {
	if err := s.eachPeerOf(route, s.letThrough); err != nil {
		return err
	}
	return s.heardByAll(func() error {
		_, err := s.bgp.AddPath(apiutil.AddPathRequest{Paths: []*apiutil.Path{path(route, s.from)}})
		return err
	})
}

// Withdraw takes a route back from every peer.
func (s *speaker) Withdraw(prefix netip.Prefix) error {
	if route, told := s.routes[prefix]; told && s.bgp != nil {
		// The policies let it through until it is gone, or the withdrawal would not pass them either.
		err := s.heardByAll(func() error {
			return s.bgp.DeletePath(apiutil.DeletePathRequest{Paths: []*apiutil.Path{path(route, s.from)}})
		})
		if err != nil {
			return err
		}
		if err := s.eachPeerOf(route, s.letThroughNoMore); err != nil {
			return err
		}
	}
	delete(s.routes, prefix)
	return nil
}

// heardByAll changes the table of routes. A session that begins meanwhile may miss the change: the library gives it the
// whole table before it passes changes on to it. It is begun again then, except for one that resumes: that has the
// table once it stands, and its router would drop the routes that it keeps.
func (s *speaker) heardByAll(change func() error) error {
	var beginning []netip.Addr
	for address, peer := range s.peers {
		if peer.mute == "" && !(peer.resumes && peer.count == 0) && s.last(address).state != Established {
			beginning = append(beginning, address)
		}
	}
	err := change()
	for _, address := range beginning {
		if state := stateOf(s.bgp, address); state >= api.PeerState_SESSION_STATE_OPENCONFIRM {
			s.peers[address].unsure = true
			s.changed()
		}
	}
	return err
}

func (s *speaker) eachPeerOf(route Route, do func(netip.Addr, netip.Prefix) error) error {
	var failed error
	for address, peer := range s.peers {
		if peer.mute == "" && route.isFor(&peer.config) {
			failed = errors.Join(failed, do(address, route.Prefix))
		}
	}
	return failed
}

func (s *speaker) prefixesFor(peer *plan.Peer) []netip.Prefix {
	var prefixes []netip.Prefix
	for prefix, route := range s.routes {
		if route.isFor(peer) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
