package fleet

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// advertise has the routers of routing() told of the virtual service.
func (s *stage) advertise() {
	var peers []schema.BGPPeer
	for _, peer := range routing().GetPeers() {
		peers = append(peers, schema.BGPPeer{PeerIP: &schema.IPAddr{Addr: peer.GetAddress(), Type: "V4"}, AdvertiseVip: true})
	}
	s.vs.EnableRHI, s.vs.Addresses = true, []netip.Addr{netip.MustParseAddr("3.3.3.3")}
	s.vs.VrfContext = &schema.VrfContext{BGP: &schema.BGPProfile{Peers: peers}}
	s.observe(10, "vs-1", "pool-1")
}

func (s *stage) routed(engine string, routing *enginev1.Routing) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing}})
}

func TestEngineThatLostAllItsRoutersServesNobodyAndSaysWhy(t *testing.T) {
	s := newStage(t)
	s.advertise()
	s.serve("se-one", "se-two")
	s.judge("se-one", "10.0.0.1:80", true, "")
	s.routed("se-one", routing())
	s.routed("se-two", routing())
	if runtime := s.VirtualService("vs-1"); runtime["percent_ses_up"] != int64(100) {
		t.Fatalf("with one router each: %v", runtime)
	}
	alone := routing()
	alone.Peers[0].State, alone.Peers[0].Reason = enginev1.BgpState_BGP_STATE_IDLE, "BFD is down"
	s.routed("se-one", alone)
	runtime := s.VirtualService("vs-1")
	s.contains(runtime, "percent_ses_up:50")
	s.contains(runtime["service_engine"].([]any)[0], "OPER_DOWN", "advertised:false", "has no BGP session with 10.0.0.1: BFD is down")
	s.routed("se-two", alone)
	s.contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "BFD is down")
	s.contains(s.Pool("pool-1"), "OPER_UP", "num_servers_up:1") // it is not the servers' fault
}

func TestSessionsAreAsOldAsThisControllerSawThem(t *testing.T) {
	now := clock
	s := &stage{T: t, Fleet: New(nil, quiet(), events.New(quiet(), time.Now), func() time.Time { return now })}
	at := netip.MustParseAddr("10.0.0.1")
	s.Connected("se-one", &enginev1.Hello{Routing: routing()})
	now = now.Add(time.Minute)
	s.routed("se-one", routing())
	if session := s.Facts()["se-one"].Sessions[at]; session != (place.Session{Up: true, Since: clock}) {
		t.Errorf("told twice: %+v", session)
	}
	s.routed("se-one", &enginev1.Routing{Peers: []*enginev1.PeerState{{Address: at.String()}}})
	if session := s.Facts()["se-one"].Sessions[at]; session != (place.Session{Since: now}) {
		t.Errorf("ended: %+v", session)
	}
}

func TestWhatAnAgentSaysHappenedIsAmongTheEvents(t *testing.T) {
	log := events.New(quiet(), time.Now)
	fleet := New(nil, quiet(), log, time.Now)
	fleet.Connected("se-one", &enginev1.Hello{})
	fleet.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Event{Event: &enginev1.Event{
		Id: "SE_BGP_PEER_STATE_CHANGE", ObjectKind: "vrfcontext", ObjectUuid: "vrf-1", Message: "BGP peer 10.0.0.1 is down",
	}}})
	entries := log.Entries()
	if len(entries) == 0 || entries[0].ID != "SE_BGP_PEER_STATE_CHANGE" || entries[0].UUID != "se-one" || !strings.Contains(entries[0].Message, "is down") {
		t.Errorf("events: %+v", entries)
	}
}
