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

// watchAfter is how long a session is established before BFD watches it. By then the router has ended BFD for the
// session before.
const watchAfter = 500 * time.Millisecond

// speaker is the Announcer over BGP: GoBGP in this process, which dials its peers and does not listen. Each peer gets
// only what its own policy lets through, and nothing that a peer sends is accepted. It is not safe for concurrent use.
type speaker struct {
	engineUUID func() string
	changed    func() // a session has; may be called from anywhere
	log        *slog.Logger
	port       uint16 // of the peers; 0: that of BGP
	keeps      bool   // what the routes lead to outlives this agent
	follows    bool   // the first sessions may continue those of the earlier agent

	bgp    *server.BgpServer // nil: does not speak
	from   origin
	watch  context.CancelFunc
	bfd    *bfd.Watch
	peers  map[netip.Addr]*session
	routes map[netip.Prefix]Route

	heard sync.Map // netip.Addr → heard; the library writes
}

// session is a configured peer, and how it is shown to operators.
type session struct {
	config      plan.Peer
	local       netip.Addr // the address of this engine in the peer's subnet; invalid: the kernel chooses
	mute        string     // why no session with the peer is possible; empty: one is
	up          bool
	since       time.Time // of up
	count       uint32    // how often it was
	keepsRoutes bool      // the router keeps routes when the session ends without a NOTIFICATION
	resumes     bool      // it announces a graceful restart, the first time that it is established
	unsure      bool      // whether it has heard of the last change of the routes: see heardByAll
}

func newSpeaker(engineUUID func() string, changed func(), log *slog.Logger) *speaker {
	return &speaker{
		engineUUID: engineUUID, changed: changed, log: log, bfd: bfd.New(bfd.Config{Changed: changed}),
		peers: map[netip.Addr]*session{}, routes: map[netip.Prefix]Route{},
	}
}

// configure keeps sessions with the peers of a router that this engine can reach, but never from a VIP. Unchanged
// sessions stay. A nil router ends all sessions.
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

// isSpent tells whether a session with BFD has ended, or has to end because BFD lost the router. Routers start BFD
// again with each BGP session, and so do we.
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

// stop ends every session, and routers drop our routes at once. The next start announces the routes again.
func (s *speaker) stop() {
	if s.bgp == nil {
		return
	}
	s.bgp.Stop()
	s.forget()
}

// forget removes what is left of ended sessions.
func (s *speaker) forget() {
	s.watch()
	s.bfd.EndAll()
	s.bgp = nil
	clear(s.peers)
	s.heard.Clear()
}

// add starts a session. Its policy is set before its first message.
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

// Announce announces a route to its peers. If the route has other peers than before, it is first withdrawn from all.
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
		// The policies let the route pass until it is withdrawn, because they would stop the withdrawal, too.
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

// heardByAll changes the table of routes. A session that starts meanwhile may miss the change, because the library
// sends it the whole table before it passes on changes. Such a session is started again, except a resumed one: that one
// sends the table after it is established, and its router would drop the routes that it keeps.
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
