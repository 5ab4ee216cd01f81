package plan

import (
	"fmt"
	"net/netip"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Read parses a Plan from the controller. If it cannot be parsed, Read returns none, and findings that say where it is
// wrong.
func Read(wire *enginev1.Plan) (*Plan, []Finding) {
	r := &reader{
		plan:     &Plan{Revision: wire.GetRevision(), Dataplane: partOf(wire), wire: wire},
		monitors: map[string]*Monitor{}, services: map[string]*dataplanev1.VirtualService{}, pools: map[string]*Pool{},
	}
	for _, resource := range wire.GetResources() {
		switch body := resource.GetBody().(type) {
		case *enginev1.Resource_HealthMonitor:
			r.monitors[resource.GetUuid()] = monitorOf(body.HealthMonitor)
		case *enginev1.Resource_VirtualService:
			r.services[resource.GetUuid()] = body.VirtualService
			r.listeners(body.VirtualService)
		case *enginev1.Resource_BgpRouter:
			r.router(body.BgpRouter)
		}
	}
	for _, resource := range wire.GetResources() { // which name monitors
		if pool := resource.GetPool(); pool != nil {
			r.pool(pool)
		}
	}
	for _, resource := range wire.GetResources() { // which name virtual services and their pools
		if said := resource.GetAdvertisement(); said != nil {
			r.advertisement(said)
		}
	}
	if len(r.findings) > 0 {
		return nil, r.findings
	}
	return r.plan, nil
}

// reader is a Plan that is being read.
type reader struct {
	plan     *Plan
	monitors map[string]*Monitor
	services map[string]*dataplanev1.VirtualService
	pools    map[string]*Pool
	findings []Finding
}

func (r *reader) find(object Object, field, format string, arguments ...any) {
	r.findings = append(r.findings, Finding{object, field, fmt.Sprintf(format, arguments...)})
}

// address parses an address of an object. If it is wrong, it returns an invalid address and adds a finding.
func (r *reader) address(text string, object Object, field string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil {
		r.find(object, field, "%q is not an address", text)
	}
	return address
}

// listeners parses where a virtual service listens.
func (r *reader) listeners(service *dataplanev1.VirtualService) {
	if !listens(service) {
		return
	}
	object := Object{"virtualservice", service.GetUuid(), service.GetName()}
	for i, listener := range service.GetListeners() {
		field := fmt.Sprintf("services[%d]", i)
		address, err := netip.ParseAddr(listener.GetAddress())
		if port := listener.GetPort(); err != nil || port == 0 || port > 65535 {
			r.find(object, field, "cannot listen on %s:%d: not an address and port", listener.GetAddress(), port)
		}
		r.plan.Listeners = append(r.plan.Listeners, Listener{
			At: netip.AddrPortFrom(address, uint16(listener.GetPort())), Service: object, Field: field,
		})
	}
}

// router keeps the first router; a Plan has at most one.
func (r *reader) router(said *enginev1.BgpRouter) {
	if r.plan.Router != nil {
		return
	}
	object := Object{"vrfcontext", said.GetUuid(), said.GetName()}
	router := &Router{UUID: said.GetUuid(), Name: said.GetName(), LocalAS: said.GetLocalAs()}
	for i, peer := range said.GetPeers() {
		field := fmt.Sprintf("bgp_profile.peers[%d]", i)
		read := peerOf(peer)
		read.Address = r.address(peer.GetAddress(), object, field)
		if peer.GetSubnet() != "" {
			var err error
			if read.Subnet, err = netip.ParsePrefix(peer.GetSubnet()); err != nil {
				r.find(object, field+".subnet", "%q is not a subnet", peer.GetSubnet())
			}
		}
		router.Peers = append(router.Peers, read)
	}
	r.plan.Router = router
}

// peerOf is a peer without its address and subnet, which may be wrong.
func peerOf(peer *enginev1.BgpPeer) Peer {
	read := Peer{
		Label: peer.GetLabel(), LocalAS: peer.GetLocalAs(), RemoteAS: peer.GetRemoteAs(),
		MD5Secret: peer.GetMd5Secret(),
		Keepalive: seconds(peer.GetKeepaliveS()), Hold: seconds(peer.GetHoldS()),
		ConnectRetry: seconds(peer.GetConnectRetryS()),
		MultihopTTL:  peer.GetMultihopTtl(), AdvertisesVIPs: peer.GetAdvertiseVips(),
	}
	if timers := peer.GetBfd(); timers != nil {
		read.BFD = BFD{
			On: true, MinTx: milliseconds(timers.GetMinTxMs()), MinRx: milliseconds(timers.GetMinRxMs()),
			Multiplier: uint8(timers.GetMultiplier()),
		}
	}
	return read
}

func (r *reader) advertisement(said *enginev1.Advertisement) {
	service := r.services[said.GetVirtualServiceUuid()]
	object := Object{"virtualservice", said.GetVirtualServiceUuid(), service.GetName()}
	read := Advertisement{
		Service: said.GetVirtualServiceUuid(), Draws: service != nil &&
			service.GetDuty() == dataplanev1.Duty_DUTY_SERVE,
		PeerLabels: said.GetPeerLabels(), LocalPreference: said.GetLocalPreference(),
		ASPathPrepend: said.GetAsPathPrepend(),
		WhileDown:     said.GetWhileDown(),
	}
	if uuid := service.GetPoolUuid(); uuid != "" {
		if read.Pool = r.pools[uuid]; read.Pool == nil {
			read.Pool = &Pool{UUID: uuid}
		}
	}
	for i, route := range said.GetRoutes() {
		address := r.address(route.GetAddress(), object, fmt.Sprintf("vip[%d]", i))
		read.VIPs = append(read.VIPs, VIP{Address: address, Communities: route.GetCommunities()})
	}
	for _, hop := range said.GetNextHops() {
		read.Engines = append(read.Engines, r.address(hop, object, "next_hops"))
	}
	r.plan.Advertisements = append(r.plan.Advertisements, read)
}

func (r *reader) pool(said *enginev1.Pool) {
	pool := said.GetPool()
	read := &Pool{UUID: pool.GetUuid(), ServerName: pool.GetServerTls().GetServerName()}
	for _, uuid := range said.GetHealthMonitorUuids() {
		if monitor := r.monitors[uuid]; monitor != nil {
			read.Monitors = append(read.Monitors, monitor)
		}
	}
	for _, server := range pool.GetServers() {
		address, _ := netip.ParseAddr(server.GetAddress()) // the data plane would refuse a pool with a wrong server
		read.Servers = append(read.Servers, Server{
			ID: server.GetId(), Address: address, Port: uint16(server.GetPort()), Hostname: server.GetHostname(),
			Enabled: server.GetEnabled(),
		})
	}
	r.pools[read.UUID] = read
	r.plan.Pools = append(r.plan.Pools, read)
}

func monitorOf(said *enginev1.HealthMonitor) *Monitor {
	http, tcp := said.GetHttp(), said.GetTcp()
	return &Monitor{
		UUID: said.GetUuid(), Type: MonitorType(said.GetType()),
		Interval:  milliseconds(max(1, said.GetSendIntervalMs())),
		Timeout:   milliseconds(max(1, said.GetReceiveTimeoutMs())),
		Successes: max(1, int(said.GetSuccessfulChecks())), Failures: max(1, int(said.GetFailedChecks())),
		Port: uint16(said.GetMonitorPort()), Quickstart: said.GetQuickstart(),
		HTTP: HTTPCheck{
			Request: http.GetRequest(), Exact: http.GetExactRequest(), Body: http.GetBody(),
			Classes:  http.GetResponseClasses(),
			Contains: http.GetResponseContains(), MaintenanceCodes: http.GetMaintenanceCodes(),
			MaintenanceContains: http.GetMaintenanceContains(), ServerName: http.GetServerName(),
		},
		TCP: TCPCheck{
			Request: tcp.GetRequest(), Contains: tcp.GetResponseContains(),
			MaintenanceContains: tcp.GetMaintenanceContains(),
			HalfOpen:            tcp.GetHalfOpen(),
		},
	}
}

func seconds(n uint32) time.Duration      { return time.Duration(n) * time.Second }
func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
