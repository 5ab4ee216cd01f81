package runtime

import (
	"net/netip"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestShowsSessionsAndRoutesAsTheEngineReportsThem(t *testing.T) {
	s := newStage(t)
	peers, routes := s.EnginePeers("se-one"), s.EngineRoutes("se-unknown")
	if peers == nil || len(peers)+len(routes) != 0 {
		t.Errorf("before a report: %v, %v", peers, routes)
	}
	s.Serve("se-one", "se-two")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: fleettest.Routing()}})
	peers = s.EnginePeers("se-one")
	s.Contains(
		peers[0], "peer_ip:10.0.0.1", "peer_state:Established", "bfd_state:Up", "local_ip:10.0.0.11", "hold_time:180",
		"since:1970-01-01T00:00:01Z",
	)
	s.Contains(peers[1], "peer_ip:10.0.0.2", "peer_state:OpenSent", "bfd_state:Off", "reason:hold timer expired")
	s.Contains(s.EngineRoutes("se-one")[0], "prefix:3.3.3.3/32", "peers:[10.0.0.1]", "communities:[65000:7 no-export]",
		"local_preference:300", "virtualservice_refs:[/api/virtualservice/vs-1]")
	if sessions := s.EngineBFD("se-one"); len(sessions) != 1 {
		t.Errorf("BFD sessions: %v", sessions)
	} else {
		s.Contains(sessions[0], "peer_ip:10.0.0.1", "session_state:Up")
	}
}

func TestSaysWhichEnginesAnnounceAVirtualServiceAndWhetherTheirRoutersAreThere(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: fleettest.Routing()}})
	engines := s.VirtualService("vs-1")["service_engine"].([]any)
	s.Contains(engines[0], "advertised:true")
	s.Contains(engines[1], "advertised:false")
	s.Contains(s.Engine("se-one"), "bgp_peers_up:false", "peer_ip:10.0.0.2", "prefix:3.3.3.3/32")
	s.Contains(s.Engine("se-two"), "bgp_peers_up:true")
	unheard := fleettest.Routing()
	unheard.Routes[0].Peers = nil
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: unheard}})
	s.Contains(s.VirtualService("vs-1")["service_engine"].([]any)[0], "advertised:false")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: fleettest.Routing()}})
	s.Disconnected("se-one", "gone")
	s.Contains(s.VirtualService("vs-1")["service_engine"].([]any)[0], "advertised:false")
}

func TestSessionsOfAnEngineThatComesBackAreThoseOfItsHello(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: fleettest.Routing()}})
	s.Connected("se-one", &enginev1.Hello{Routing: &enginev1.Routing{Peers: fleettest.Routing().GetPeers()[:1]}})
	if peers, routes := s.EnginePeers("se-one"), s.EngineRoutes("se-one"); len(peers) != 1 || len(routes) != 0 {
		t.Errorf("got %v, %v", peers, routes)
	}
}

// advertise has the routers of fleettest.Routing() told of the virtual service.
func (s *stage) advertise() {
	var peers []kinds.BGPPeer
	for _, peer := range fleettest.Routing().GetPeers() {
		peers = append(peers, kinds.BGPPeer{PeerIP: &kinds.IPAddr{Addr: peer.GetAddress(), Type: "V4"},
			AdvertiseVip: true})
	}
	s.VS.EnableRHI, s.VS.Addresses = true, []netip.Addr{netip.MustParseAddr("3.3.3.3")}
	s.VS.VrfContext = &kinds.VrfContext{BGP: &kinds.BGPProfile{Peers: peers}}
	s.Want(10, "vs-1", "pool-1")
}

func TestEngineThatLostAllItsRoutersServesNobodyAndSaysWhy(t *testing.T) {
	s := newStage(t)
	s.advertise()
	s.Serve("se-one", "se-two")
	s.Judge("se-one", "10.0.0.1:80", true, "")
	s.Routed("se-one", fleettest.Routing())
	s.Routed("se-two", fleettest.Routing())
	if runtime := s.VirtualService("vs-1"); runtime["percent_ses_up"] != int64(100) {
		t.Fatalf("with one router each: %v", runtime)
	}
	alone := fleettest.Routing()
	alone.Peers[0].State, alone.Peers[0].Reason = enginev1.BgpState_BGP_STATE_IDLE, "BFD is down"
	s.Routed("se-one", alone)
	runtime := s.VirtualService("vs-1")
	s.Contains(runtime, "percent_ses_up:50")
	s.Contains(
		runtime["service_engine"].([]any)[0], "OPER_DOWN", "advertised:false",
		"has no BGP session with 10.0.0.1: BFD is down",
	)
	s.Routed("se-two", alone)
	s.Contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "BFD is down")
	s.Contains(s.Pool("pool-1"), "OPER_UP", "num_servers_up:1") // it is not the servers' fault
}
