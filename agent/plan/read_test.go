package plan

import (
	"crypto/tls"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func serviceResource(change func(*dataplanev1.VirtualService)) *enginev1.Resource {
	service := &dataplanev1.VirtualService{
		Uuid: "vs-1", Name: "shop", PoolUuid: "pool-1",
		Listeners: []*dataplanev1.Listener{{Address: "192.0.2.1", Port: 80},
			{Address: "2001:db8::1", Port: 443, Tls: true}},
	}
	if change != nil {
		change(service)
	}
	return &enginev1.Resource{Uuid: service.GetUuid(), Body: &enginev1.Resource_VirtualService{VirtualService: service}}
}

func poolResource() *enginev1.Resource {
	return &enginev1.Resource{Uuid: "pool-1", Body: &enginev1.Resource_Pool{Pool: &enginev1.Pool{
		Pool: &dataplanev1.Pool{
			Uuid: "pool-1", Name: "web", ServerTls: &dataplanev1.ServerTls{ServerName: "web.example"},
			Servers: []*dataplanev1.Server{{Id: "a", Address: "10.0.0.1", Port: 8080, Hostname: "one", Enabled: true}},
		},
		HealthMonitorUuids: []string{"hm-1", "hm-elsewhere"},
	}}}
}

func monitorResource(monitor *enginev1.HealthMonitor) *enginev1.Resource {
	monitor.Uuid = "hm-1"
	return &enginev1.Resource{Uuid: "hm-1", Body: &enginev1.Resource_HealthMonitor{HealthMonitor: monitor}}
}

func routerResource(peers ...*enginev1.BgpPeer) *enginev1.Resource {
	router := &enginev1.BgpRouter{Uuid: "vrf-1", Name: "global", LocalAs: 65000, Peers: peers}
	return &enginev1.Resource{Uuid: "vrf-1", Body: &enginev1.Resource_BgpRouter{BgpRouter: router}}
}

func advertisementResource(change func(*enginev1.Advertisement)) *enginev1.Resource {
	said := &enginev1.Advertisement{
		VirtualServiceUuid: "vs-1", Routes: []*enginev1.Route{{Address: "192.0.2.1", Communities: []uint32{7}}},
		PeerLabels: []string{"left"}, LocalPreference: 3, AsPathPrepend: 2, WhileDown: true,
		NextHops: []string{"10.1.0.11", "10.1.0.12"},
	}
	if change != nil {
		change(said)
	}
	return &enginev1.Resource{Uuid: "vs-1/routes", Body: &enginev1.Resource_Advertisement{Advertisement: said}}
}

func read(t *testing.T, resources ...*enginev1.Resource) *Plan {
	t.Helper()
	plan, findings := Read(&enginev1.Plan{Revision: 3, Resources: resources})
	if findings != nil {
		t.Fatal(findings)
	}
	return plan
}

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func expect(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestReadsServersAndWhoChecksThem(t *testing.T) {
	plan := read(t, poolResource(), monitorResource(&enginev1.HealthMonitor{ // which its pool comes before
		Type: enginev1.MonitorType_MONITOR_TYPE_HTTPS, SendIntervalMs: 10_000, ReceiveTimeoutMs: 4_000,
		SuccessfulChecks: 2, FailedChecks: 3,
		MonitorPort: 8081, Quickstart: true, Http: &enginev1.HttpCheck{
			Request: "GET /", ExactRequest: true, Body: "b", ResponseClasses: []uint32{2}, ResponseContains: "ok",
			MaintenanceCodes: []uint32{503}, MaintenanceContains: "away", ServerName: "sni.example",
		},
	}))
	plan.Pools[0].Monitors[0].Content = Content{}
	expect(t, plan.Pools, []*Pool{{
		UUID: "pool-1", ServerName: "web.example", MinServers: 1,
		Servers: []Server{{ID: "a", Address: address("10.0.0.1"), Port: 8080, Hostname: "one", Enabled: true}},
		Monitors: []*Monitor{{
			UUID: "hm-1", Type: HTTPS, Interval: 10 * time.Second, Timeout: 4 * time.Second, Successes: 2, Failures: 3,
			Port: 8081, Quickstart: true,
			HTTP: HTTPCheck{
				Request: "GET /", Exact: true, Body: "b", Classes: []uint32{2}, Contains: "ok",
				MaintenanceCodes: []uint32{503}, MaintenanceContains: "away", Searched: searchedBytes,
			},
			TLS: MonitorTLS{ServerName: "sni.example", MinVersion: tls.VersionTLS10},
		}},
	}})
}

func TestMonitorThatSaysNothingIsTheQuickestThereCanBe(t *testing.T) {
	plan := read(t, poolResource(), monitorResource(&enginev1.HealthMonitor{
		Type: enginev1.MonitorType_MONITOR_TYPE_TCP,
		Tcp:  &enginev1.TcpCheck{Request: "hi", ResponseContains: "ho", MaintenanceContains: "away", HalfOpen: true},
	}))
	plan.Pools[0].Monitors[0].Content = Content{}
	expect(t, plan.Pools[0].Monitors[0], &Monitor{
		UUID: "hm-1", Type: TCP, Interval: time.Millisecond, Timeout: time.Millisecond, Successes: 1, Failures: 1,
		TCP:  TCPCheck{Request: "hi", Contains: "ho", MaintenanceContains: "away", HalfOpen: true},
		HTTP: HTTPCheck{Searched: searchedBytes}, TLS: MonitorTLS{MinVersion: tls.VersionTLS10},
	})
}

func TestReadsHowTheEngineSpeaksToRouters(t *testing.T) {
	plan := read(t, routerResource(
		&enginev1.BgpPeer{
			Address: "10.0.0.1", Subnet: "10.0.0.0/24", Label: "left", LocalAs: 65000, RemoteAs: 65001, Md5Secret: "s",
			KeepaliveS: 3, HoldS: 9,
			ConnectRetryS: 1, MultihopTtl: 2, AdvertiseVips: true,
			Bfd: &enginev1.BfdTimers{MinTxMs: 300, MinRxMs: 400, Multiplier: 3},
		},
		&enginev1.BgpPeer{Address: "2001:db8::1"},
	))
	expect(t, plan.Router, &Router{UUID: "vrf-1", Name: "global", LocalAS: 65000, Peers: []Peer{
		{
			Address: address("10.0.0.1"), Subnet: netip.MustParsePrefix("10.0.0.0/24"), Label: "left", LocalAS: 65000,
			RemoteAS: 65001, MD5Secret: "s",
			Keepalive: 3 * time.Second, Hold: 9 * time.Second, ConnectRetry: time.Second, MultihopTTL: 2,
			AdvertisesVIPs: true,
			BFD:            BFD{On: true, MinTx: 300 * time.Millisecond, MinRx: 400 * time.Millisecond, Multiplier: 3},
		},
		{Address: address("2001:db8::1")},
	}})
}

func TestReadsWhatRoutersAreToldOfAVirtualService(t *testing.T) {
	// which its advertisement comes before
	plan := read(t, advertisementResource(nil), poolResource(), serviceResource(nil))
	expect(t, plan.Advertisements, []Advertisement{{
		Demand: Demand{Service: "vs-1", Pools: plan.Pools[:1]}, Draws: true,
		VIPs:            []VIP{{address("192.0.2.1"), []uint32{7}}},
		PeerLabels:      []string{"left"},
		LocalPreference: 3, ASPathPrepend: 2, WhileDown: true,
		Engines: []netip.Addr{address("10.1.0.11"), address("10.1.0.12")},
	}})
	expect(t, plan.VIPs(), []netip.Addr{address("192.0.2.1")})
}

func TestReadsWhichPoolsOfAVirtualServiceMustBeUp(t *testing.T) {
	said := advertisementResource(func(a *enginev1.Advertisement) {
		a.MinPoolsUp, a.CountedPoolUuids = 2, []string{"pool-1", "pool-elsewhere"}
	})
	plan := read(t, poolResource(), serviceResource(nil), said)
	expect(t, plan.Advertisements[0].MinPoolsUp, 2)
	expect(t, plan.Advertisements[0].Counted, []*Pool{plan.Pools[0], {UUID: "pool-elsewhere", MinServers: 1}})
}

func TestPoolThatThePlanDoesNotHaveHasNoServers(t *testing.T) {
	plan := read(t, serviceResource(nil), advertisementResource(nil))
	expect(t, plan.Advertisements[0].Pools, []*Pool{{UUID: "pool-1", MinServers: 1}})
	bare := read(t, serviceResource(func(s *dataplanev1.VirtualService) {
		s.PoolUuid = ""
	}), advertisementResource(nil))
	expect(t, bare.Advertisements[0].Pools, []*Pool(nil))
}

func TestStandbyHasAllButListenersAndADrainingServiceGoesOnListening(t *testing.T) {
	both := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:80"), netip.MustParseAddrPort("[2001:db8::1]:443")}
	for duty, want := range map[dataplanev1.Duty]struct {
		listens []netip.AddrPort
		draws   bool
	}{
		dataplanev1.Duty_DUTY_SERVE:   {both, true},
		dataplanev1.Duty_DUTY_DRAIN:   {both, false},
		dataplanev1.Duty_DUTY_STANDBY: {nil, false},
	} {
		plan := read(t, serviceResource(func(s *dataplanev1.VirtualService) {
			s.Duty = duty
		}), advertisementResource(nil))
		var listens []netip.AddrPort
		for _, listener := range plan.Listeners {
			listens = append(listens, listener.At)
		}
		part := plan.Dataplane().GetVirtualServices()[0]
		if !reflect.DeepEqual(listens, want.listens) || len(part.GetListeners()) != len(listens) ||
			part.GetPoolUuid() != "pool-1" ||
			plan.Advertisements[0].Draws != want.draws {
			t.Errorf("%v: listens at %v (its data plane: %v), draws: %t", duty, listens, part,
				plan.Advertisements[0].Draws)
		}
	}
}

func TestDataPlaneIsGivenWhatItUses(t *testing.T) {
	plan := read(t, serviceResource(nil), poolResource(), monitorResource(&enginev1.HealthMonitor{}), routerResource(),
		&enginev1.Resource{Uuid: "g", Body: &enginev1.Resource_EngineSettings{EngineSettings: &enginev1.EngineSettings{
			Uuid: "g", WorkerPinning: dataplanev1.WorkerPinning_WORKER_PINNING_NEVER,
		}}},
		&enginev1.Resource{Uuid: "c",
			Body: &enginev1.Resource_Certificate{Certificate: &dataplanev1.Certificate{Uuid: "c"}}},
		&enginev1.Resource{Uuid: "k",
			Body: &enginev1.Resource_PkiProfile{PkiProfile: &dataplanev1.PkiProfile{Uuid: "k"}}},
		&enginev1.Resource{Uuid: "h",
			Body: &enginev1.Resource_HttpPolicySet{HttpPolicySet: &dataplanev1.HttpPolicySet{Uuid: "h"}}},
		&enginev1.Resource{Uuid: "s",
			Body: &enginev1.Resource_StringGroup{StringGroup: &dataplanev1.StringGroup{Uuid: "s"}}},
		&enginev1.Resource{Uuid: "a",
			Body: &enginev1.Resource_AddressGroup{AddressGroup: &dataplanev1.AddressGroup{Uuid: "a"}}},
	)
	want := &dataplanev1.Plan{
		Revision: 3, VirtualServices: []*dataplanev1.VirtualService{serviceResource(nil).GetVirtualService()},
		Pools:          []*dataplanev1.Pool{poolResource().GetPool().GetPool()},
		Certificates:   []*dataplanev1.Certificate{{Uuid: "c"}},
		PkiProfiles:    []*dataplanev1.PkiProfile{{Uuid: "k"}},
		HttpPolicySets: []*dataplanev1.HttpPolicySet{{Uuid: "h"}},
		StringGroups:   []*dataplanev1.StringGroup{{Uuid: "s"}},
		AddressGroups:  []*dataplanev1.AddressGroup{{Uuid: "a"}},
		WorkerPinning:  dataplanev1.WorkerPinning_WORKER_PINNING_NEVER,
	}
	if !proto.Equal(plan.Dataplane(), want) {
		t.Errorf("got %v, want %v", plan.Dataplane(), want)
	}
}

func TestPlanThatCannotBeReadSaysWhere(t *testing.T) {
	shop := Object{"virtualservice", "vs-1", "shop"}
	global := Object{"vrfcontext", "vrf-1", "global"}
	listening := func(address string, port uint32) *enginev1.Resource {
		return serviceResource(func(s *dataplanev1.VirtualService) {
			s.Listeners[1] = &dataplanev1.Listener{Address: address, Port: port}
		})
	}
	for _, c := range []struct {
		resource *enginev1.Resource
		want     Finding
	}{
		{listening("shop.example", 80), Finding{shop, "services[1]",
			"cannot listen on shop.example:80: not an address and port"}},
		{listening("192.0.2.1", 0), Finding{shop, "services[1]",
			"cannot listen on 192.0.2.1:0: not an address and port"}},
		{listening("192.0.2.1", 65536), Finding{shop, "services[1]",
			"cannot listen on 192.0.2.1:65536: not an address and port"}},
		{listening("", 80), Finding{shop, "services[1]", "cannot listen on :80: not an address and port"}},
		{routerResource(&enginev1.BgpPeer{Address: "router"}),
			Finding{global, "bgp_profile.peers[0]", `"router" is not an address`}},
		{routerResource(&enginev1.BgpPeer{Address: "10.0.0.1", Subnet: "10"}),
			Finding{global, "bgp_profile.peers[0].subnet", `"10" is not a subnet`}},
		{advertisementResource(func(a *enginev1.Advertisement) {
			a.Routes[0].Address = ""
		}), Finding{shop, "vip[0]", `"" is not an address`}},
		{advertisementResource(func(a *enginev1.Advertisement) {
			a.NextHops[1] = "x"
		}), Finding{shop, "next_hops", `"x" is not an address`}},
	} {
		resources := []*enginev1.Resource{c.resource}
		if c.resource.GetVirtualService() == nil {
			resources = append(resources, serviceResource(nil))
		}
		plan, findings := Read(&enginev1.Plan{Resources: resources})
		if plan != nil {
			t.Errorf("takes %v", c.resource)
		}
		expect(t, findings, []Finding{c.want})
	}
}

func TestFindingsOfADataPlaneReachTheControllerAsTheyAre(t *testing.T) {
	said := &dataplanev1.Finding{Kind: "pool", Uuid: "pool-1", Name: "web", Field: "servers[0]", Message: "no"}
	found := FindingsOf([]*dataplanev1.Finding{said})
	expect(t, found, []Finding{{Object{"pool", "pool-1", "web"}, "servers[0]", "no"}})
	if told := WireFindings(found); len(told) != 1 || !proto.Equal(told[0], said) {
		t.Errorf("told %v", told)
	}
}

func TestNoPlanAsksForNothing(t *testing.T) {
	var none *Plan
	if none.Wire() != nil || none.Advertised() != nil || none.BGP() != nil || none.VIPs() != nil {
		t.Error("it asks for something")
	}
}

func TestServersWithThePortOfTheServiceAnswerFromThePortsOfListeners(t *testing.T) {
	service := serviceResource(func(s *dataplanev1.VirtualService) {
		s.Udp = &dataplanev1.UdpProfile{KeepClientAddress: true}
		s.Listeners = []*dataplanev1.Listener{{Address: "192.0.2.1", Port: 53}, {Address: "192.0.2.1", Port: 54}}
	})
	for _, usesServicePort := range []bool{false, true} {
		pool := poolResource()
		pool.GetPool().Pool.UseServicePort = usesServicePort
		pool.GetPool().Pool.Servers = []*dataplanev1.Server{{Id: "s", Address: "10.0.0.1", Port: 5353}}
		var got []uint16
		for _, answerer := range read(t, pool, service).Answerers() {
			got = append(got, answerer.At.Port())
		}
		want := map[bool][]uint16{false: {5353}, true: {53, 54}}[usesServicePort]
		expect(t, got, want)
	}
}

func TestServersOfAVariantThatKeepsClientsAnswerThroughTheEngine(t *testing.T) {
	service := serviceResource(func(s *dataplanev1.VirtualService) {
		s.Variants = []*dataplanev1.VirtualService{
			{PoolUuid: s.GetPoolUuid(), Udp: &dataplanev1.UdpProfile{KeepClientAddress: true}},
		}
	})
	pool := poolResource()
	pool.GetPool().Pool.Servers = []*dataplanev1.Server{{Id: "s", Address: "10.0.0.1", Port: 5353}}
	if got := read(t, pool, service).Answerers(); len(got) != 1 || got[0].At.Port() != 5353 {
		t.Errorf("got %v", got)
	}
}

func TestServersOfPoolsThatRulesChooseAnswerThroughTheEngine(t *testing.T) {
	named := func(uuid, address string) *enginev1.Resource {
		pool := poolResource()
		pool.Uuid, pool.GetPool().Pool.Uuid = uuid, uuid
		pool.GetPool().Pool.Servers = []*dataplanev1.Server{{Id: "s", Address: address, Port: 5353}}
		return pool
	}
	chosen := func(s *dataplanev1.VirtualService) {
		s.PoolRules = []*dataplanev1.PoolRule{
			{Name: "port", Pool: &dataplanev1.PoolChoice{PoolUuid: "pool-2"}},
			{Name: "same", Pool: &dataplanev1.PoolChoice{PoolUuid: "pool-2"}},
		}
	}
	for _, isOfVariant := range []bool{false, true} {
		service := serviceResource(func(s *dataplanev1.VirtualService) {
			part := s
			if isOfVariant {
				part = &dataplanev1.VirtualService{PoolUuid: s.GetPoolUuid()}
				s.Variants = []*dataplanev1.VirtualService{part}
			}
			part.Udp = &dataplanev1.UdpProfile{KeepClientAddress: true}
			chosen(part)
		})
		own := named("pool-1", "10.0.0.1")
		var got []string
		for _, answerer := range read(t, own, named("pool-2", "10.0.0.2"), service).Answerers() {
			got = append(got, answerer.At.String())
		}
		expect(t, got, []string{"10.0.0.1:5353", "10.0.0.2:5353"})
	}
}
