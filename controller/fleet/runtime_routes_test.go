package fleet

import (
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// routing is what an engine with two routers reports, one of which is not there.
func routing() *enginev1.Routing {
	return &enginev1.Routing{
		Peers: []*enginev1.PeerState{
			{
				Address: "10.0.0.1", LocalAs: 65000, RemoteAs: 65000, State: enginev1.BgpState_BGP_STATE_ESTABLISHED, RouterId: "10.0.0.1",
				LocalAddress: "10.0.0.11", HoldS: 180, SinceUnixMs: 1_000, EstablishedCount: 1, Bfd: enginev1.BfdState_BFD_STATE_UP,
			},
			{Address: "10.0.0.2", State: enginev1.BgpState_BGP_STATE_OPEN_SENT, Reason: "hold timer expired"},
		},
		Routes: []*enginev1.AnnouncedRoute{{
			Prefix: "3.3.3.3/32", Peers: []string{"10.0.0.1"}, Communities: []uint32{65000<<16 | 7, 0xffffff01}, LocalPreference: 300,
			VirtualServiceUuids: []string{"vs-1"}, SinceUnixMs: 2_000,
		}},
	}
}

func TestShowsSessionsAndRoutesAsTheEngineReportsThem(t *testing.T) {
	s := newStage(t)
	if peers, routes := s.EnginePeers("se-one"), s.EngineRoutes("se-unknown"); peers == nil || len(peers)+len(routes) != 0 {
		t.Errorf("before a report: %v, %v", peers, routes)
	}
	s.serve("se-one", "se-two")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing()}})
	peers := s.EnginePeers("se-one")
	s.contains(peers[0], "peer_ip:10.0.0.1", "peer_state:Established", "bfd_state:Up", "local_ip:10.0.0.11", "hold_time:180", "since:1970-01-01T00:00:01Z")
	s.contains(peers[1], "peer_ip:10.0.0.2", "peer_state:OpenSent", "bfd_state:Off", "reason:hold timer expired")
	s.contains(s.EngineRoutes("se-one")[0], "prefix:3.3.3.3/32", "peers:[10.0.0.1]", "communities:[65000:7 no-export]",
		"local_preference:300", "virtualservice_refs:[/api/virtualservice/vs-1]")
	if sessions := s.EngineBFD("se-one"); len(sessions) != 1 {
		t.Errorf("BFD sessions: %v", sessions)
	} else {
		s.contains(sessions[0], "peer_ip:10.0.0.1", "session_state:Up")
	}
}

func TestSaysWhichEnginesAnnounceAVirtualServiceAndWhetherTheirRoutersAreThere(t *testing.T) {
	s := newStage(t)
	s.serve("se-one", "se-two")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing()}})
	engines := s.VirtualService("vs-1")["service_engine"].([]any)
	s.contains(engines[0], "advertised:true")
	s.contains(engines[1], "advertised:false")
	s.contains(s.Engine("se-one"), "bgp_peers_up:false", "peer_ip:10.0.0.2", "prefix:3.3.3.3/32")
	s.contains(s.Engine("se-two"), "bgp_peers_up:true")
	unheard := routing()
	unheard.Routes[0].Peers = nil
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: unheard}})
	s.contains(s.VirtualService("vs-1")["service_engine"].([]any)[0], "advertised:false")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing()}})
	s.Disconnected("se-one", "gone")
	s.contains(s.VirtualService("vs-1")["service_engine"].([]any)[0], "advertised:false")
}

func TestSessionsOfAnEngineThatComesBackAreThoseOfItsHello(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Routing{Routing: routing()}})
	s.Connected("se-one", &enginev1.Hello{Routing: &enginev1.Routing{Peers: routing().GetPeers()[:1]}})
	if peers, routes := s.EnginePeers("se-one"), s.EngineRoutes("se-one"); len(peers) != 1 || len(routes) != 0 {
		t.Errorf("got %v, %v", peers, routes)
	}
}
