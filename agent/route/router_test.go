package route

import (
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weir-lb/weir/lab/ports"
)

// patience is how long a session and a route may take to come or to go, on a machine that is busy.
const patience = 40 * time.Second

// router is a BGP speaker on loopback that takes any session from this host, for the speaker under test to dial.
type router struct {
	*server.BgpServer
	address netip.Addr
	port    uint16
	engine  *api.Peer // that it takes a session from

	mu     sync.Mutex
	routes map[string][]bgp.PathAttributeInterface // by prefix; what it hears now
	heard  chan struct{}                           // closed and replaced at each change
	ended  api.PeerState_DisconnectReason          // why the last session did
}

// startRouter starts one of an autonomous system that is spoken to from 127.0.0.1, or ::1.
func startRouter(t *testing.T, address string, as, peerAS uint32, secret string) *router {
	t.Helper()
	r := &router{
		BgpServer: server.NewBgpServer(), address: netip.MustParseAddr(address), port: freePort(t, address),
		routes: map[string][]bgp.PathAttributeInterface{}, heard: make(chan struct{}),
	}
	go r.Serve()
	t.Cleanup(r.Stop)
	ctx := t.Context()
	global := &api.Global{Asn: as, RouterId: "192.0.2.254", ListenPort: int32(r.port),
		ListenAddresses: []string{address}}
	must(t, r.StartBgp(ctx, &api.StartBgpRequest{Global: global}))
	must(t, r.WatchEvent(ctx, server.WatchEventMessageCallbacks{OnPathUpdate: r.take, OnPeerUpdate: r.forget},
		server.WatchUpdate(true, "", ""), server.WatchPeer()))
	from := "127.0.0.1"
	if r.address.Is6() {
		from = "::1"
	}
	r.engine = &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: from, PeerAsn: peerAS, AuthPassword: secret},
		Transport: &api.Transport{PassiveMode: true},
		AfiSafis:  []*api.AfiSafi{{Config: &api.AfiSafiConfig{Family: familyOf(r.address), Enabled: true}}},
	}
	must(t, r.AddPeer(ctx, &api.AddPeerRequest{Peer: r.engine}))
	return r
}

// keepRoutes has it keep the routes of an engine that restarts.
func (r *router) keepRoutes(t *testing.T) {
	t.Helper()
	must(t, r.DeletePeer(t.Context(), &api.DeletePeerRequest{Address: r.engine.GetConf().GetNeighborAddress()}))
	offerRestart(r.engine, false)
	must(t, r.AddPeer(t.Context(), &api.AddPeerRequest{Peer: r.engine}))
}

func (r *router) take(paths []*apiutil.Path, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range paths {
		if path.Withdrawal {
			delete(r.routes, path.Nlri.String())
		} else {
			r.routes[path.Nlri.String()] = path.Attrs
		}
	}
	close(r.heard)
	r.heard = make(chan struct{})
}

// forget drops what it heard in a session that is over.
func (r *router) forget(event *apiutil.WatchEventMessage_PeerEvent, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Peer.State.SessionState == bgp.BGP_FSM_IDLE &&
		event.Peer.State.DisconnectReason != api.PeerState_DISCONNECT_REASON_UNSPECIFIED {
		r.ended = event.Peer.State.DisconnectReason
		close(r.heard)
		r.heard = make(chan struct{})
	}
	if event.Peer.State.SessionState == bgp.BGP_FSM_IDLE {
		clear(r.routes)
	}
}

// untilEnded waits for the end of a session and returns why it ended.
func (r *router) untilEnded(t *testing.T) api.PeerState_DisconnectReason {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		ended, heard := r.ended, r.heard
		r.mu.Unlock()
		if ended != api.PeerState_DISCONNECT_REASON_UNSPECIFIED {
			return ended
		}
		select {
		case <-heard:
		case <-limit:
			t.Fatal("the session does not end")
		}
	}
}

// until waits for what the router hears to be as wanted, and returns the attributes of a prefix then.
func (r *router) until(t *testing.T, prefix string, wanted func(
	[]bgp.PathAttributeInterface) bool) []bgp.PathAttributeInterface {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		attributes, heard := r.routes[prefix], r.heard
		r.mu.Unlock()
		if wanted(attributes) {
			return attributes
		}
		select {
		case <-heard:
		case <-limit:
			t.Fatalf("the router at %s hears of %s %v", r.address, prefix, attributes)
		}
	}
}

// table is all that it hears now.
func (r *router) table() map[string][]bgp.PathAttributeInterface {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.routes)
}

func (r *router) hears(t *testing.T, prefix string) []bgp.PathAttributeInterface {
	t.Helper()
	return r.until(t, prefix, func(a []bgp.PathAttributeInterface) bool { return a != nil })
}

func (r *router) hearsNoMore(t *testing.T, prefix string) {
	t.Helper()
	r.until(t, prefix, func(a []bgp.PathAttributeInterface) bool { return a == nil })
}

// attribute is one of a route in words; empty: it has none of the type.
func attribute(attributes []bgp.PathAttributeInterface, kind bgp.BGPAttrType) string {
	for _, attribute := range attributes {
		if attribute.GetType() == kind {
			return fmt.Sprint(attribute)
		}
	}
	return ""
}

func freePort(t *testing.T, address string) uint16 {
	t.Helper()
	port, err := ports.Free(address, 0)
	if err != nil {
		t.Skipf("this machine has no %s: %v", address, err)
	}
	return uint16(port)
}

// freeForBFD is an address of this end at which BFD may listen.
func freeForBFD(t *testing.T) netip.AddrPort {
	t.Helper()
	port, err := ports.FreeDatagram("127.0.0.1")
	must(t, err)
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
