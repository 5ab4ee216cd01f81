package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/parts"
)

// Read parses a Plan from the controller. If it cannot be parsed, Read returns none, and findings that say where it is
// wrong.
func Read(wire *enginev1.Plan) (*Plan, []Finding) {
	return (*Plan)(nil).Next(wire)
}

// Next parses the Plan that follows this one (nil: there is none). A resource that both Plans share, by pointer, is not
// parsed again.
func (p *Plan) Next(wire *enginev1.Plan) (*Plan, []Finding) {
	wire = sorted(wire)
	r := &reader{
		plan:  &Plan{Revision: wire.GetRevision(), wire: wire, parts: make([]part, len(wire.GetResources()))},
		fresh: map[string]bool{},
	}
	compare(p, r.plan, func(was, is int) {
		switch {
		case is < 0:
			r.differs(p.resource(was))
		case was >= 0 && p.resource(was) == r.plan.resource(is):
			r.plan.parts[is] = p.parts[was]
		default:
			r.unread = append(r.unread, is)
			r.differs(r.plan.resource(is))
		}
	})
	r.resources()
	r.allPools()
	r.allAdvertisements()
	r.allConditionals()
	r.checkSize()
	if len(r.findings) > 0 {
		return nil, r.findings
	}
	r.plan.gather(p)
	return r.plan, nil
}

// sorted is a Plan with its resources by uuid, as a controller sends it.
func sorted(wire *enginev1.Plan) *enginev1.Plan {
	if slices.IsSortedFunc(wire.GetResources(), byUUID) {
		return wire
	}
	resources := slices.SortedStableFunc(slices.Values(wire.GetResources()), byUUID)
	return &enginev1.Plan{Revision: wire.GetRevision(), Resources: resources}
}

func byUUID(a, b *enginev1.Resource) int { return cmp.Compare(a.GetUuid(), b.GetUuid()) }

// part is a parsed resource. Resources for the data plane alone are not parsed.
type part struct {
	listeners     []Listener
	pool          *Pool
	monitor       *Monitor
	router        *Router
	advertisement *Advertisement
	conditional   *Conditional
	pinning       dataplanev1.WorkerPinning
	bytes         int // on the wire
}

func (p *Plan) resource(at int) *enginev1.Resource { return p.wire.Resources[at] }

// find is where the resource with this uuid is.
func (p *Plan) find(uuid string) (at int, found bool) {
	return slices.BinarySearchFunc(p.wire.GetResources(), uuid, func(resource *enginev1.Resource, uuid string) int {
		return cmp.Compare(resource.GetUuid(), uuid)
	})
}

// gather fills the lists of the Plan from its parts. A Plan has at most one router, and one setting for pinning. The
// lists are likely as long as in the Plan before.
func (p *Plan) gather(before *Plan) {
	if before == nil {
		before = new(Plan)
	}
	p.Listeners = make([]Listener, 0, len(before.Listeners)+1)
	p.Pools = make([]*Pool, 0, len(before.Pools)+1)
	p.Advertisements = make([]Advertisement, 0, len(before.Advertisements)+1)
	for i := range p.parts {
		part := &p.parts[i]
		p.Listeners = append(p.Listeners, part.listeners...)
		if part.pool != nil {
			p.Pools = append(p.Pools, part.pool)
		}
		if part.advertisement != nil {
			p.Advertisements = append(p.Advertisements, *part.advertisement)
		}
		if part.conditional != nil {
			p.Conditionals = append(p.Conditionals, *part.conditional)
		}
		if p.Router == nil {
			p.Router = part.router
		}
		p.pinning = max(p.pinning, part.pinning)
	}
}

// reader parses one Plan.
type reader struct {
	plan     *Plan
	unread   []int           // indexes of resources that the Plan before does not share
	fresh    map[string]bool // uuids of resources that differ or are gone: what refers to them is parsed again
	monitors bool            // some of those are health monitors
	findings []Finding
}

// differs notes a resource that differs from the Plan before.
func (r *reader) differs(resource *enginev1.Resource) {
	r.fresh[resource.GetUuid()] = true
	r.monitors = r.monitors || resource.GetHealthMonitor() != nil
}

// resources parses the resources that refer to no other.
func (r *reader) resources() {
	for _, at := range r.unread {
		part := &r.plan.parts[at]
		part.bytes = proto.Size(r.plan.resource(at))
		r.checkUUID(r.plan.resource(at))
		switch body := r.plan.resource(at).GetBody().(type) {
		case *enginev1.Resource_HealthMonitor:
			part.monitor = r.monitor(body.HealthMonitor)
		case *enginev1.Resource_VirtualService:
			part.listeners = r.listeners(body.VirtualService)
		case *enginev1.Resource_BgpRouter:
			part.router = r.router(body.BgpRouter)
		case *enginev1.Resource_EngineSettings:
			part.pinning = body.EngineSettings.GetWorkerPinning()
		}
	}
}

// bytesMost limits a whole Plan. The frames of the data plane and the file of the Plan take no more.
const bytesMost = 64 << 20

// fieldBytes is at least what a Plan adds to each resource: a number and a length.
const fieldBytes = 6

// checkSize refuses a Plan that is too long as a whole, although it may have come as a short change: the next process
// of the data plane needs all of it.
func (r *reader) checkSize() {
	bytes, largest := 0, 0
	for at := range r.plan.parts {
		bytes += r.plan.parts[at].bytes + fieldBytes
		if r.plan.parts[at].bytes > r.plan.parts[largest].bytes {
			largest = at
		}
	}
	if bytes > bytesMost {
		object, known := objectOf(r.plan.resource(largest))
		if !known {
			object.UUID = r.plan.resource(largest).GetUuid()
		}
		r.find(object, "",
			"is the largest part of a Plan of %d bytes, and engines take at most %d: make it smaller, or "+
				"place the virtual services in several engine groups", bytes, bytesMost)
	}
}

// checkUUID refuses a resource that has another uuid than its object: the data plane would get the object under the one
// uuid, and its removal under the other.
func (r *reader) checkUUID(resource *enginev1.Resource) {
	var uuid string
	switch body := resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		uuid = body.VirtualService.GetUuid()
	case *enginev1.Resource_Pool:
		uuid = body.Pool.GetPool().GetUuid()
	case *enginev1.Resource_PoolGroup:
		uuid = body.PoolGroup.GetUuid()
	case *enginev1.Resource_ErrorPageProfile:
		uuid = body.ErrorPageProfile.GetUuid()
	case *enginev1.Resource_Certificate:
		uuid = body.Certificate.GetUuid()
	case *enginev1.Resource_PkiProfile:
		uuid = body.PkiProfile.GetUuid()
	case *enginev1.Resource_HttpPolicySet:
		uuid = body.HttpPolicySet.GetUuid()
	case *enginev1.Resource_StringGroup:
		uuid = body.StringGroup.GetUuid()
	case *enginev1.Resource_AddressGroup:
		uuid = body.AddressGroup.GetUuid()
	case *enginev1.Resource_NetworkPolicy:
		uuid = body.NetworkPolicy.GetUuid()
	default:
		return
	}
	if object, _ := objectOf(resource); uuid != object.UUID {
		r.find(object, "uuid", "the resource has the uuid %q, its object has %q", object.UUID, uuid)
	}
}

// allPools parses pools that are not shared, and pools with a health monitor that differs.
func (r *reader) allPools() {
	isFresh := func(uuid string) bool { return r.fresh[uuid] }
	for at := range r.plan.parts {
		if !r.monitors || r.plan.parts[at].pool == nil {
			continue
		}
		if wire := r.plan.resource(at).GetPool(); slices.ContainsFunc(wire.GetHealthMonitorUuids(), isFresh) {
			r.plan.parts[at].pool = r.pool(wire)
			r.fresh[wire.GetPool().GetUuid()] = true
		}
	}
	for _, at := range r.unread {
		if wire := r.plan.resource(at).GetPool(); wire != nil {
			r.plan.parts[at].pool = r.pool(wire)
		}
	}
}

// allAdvertisements parses advertisements that are not shared, and those of a virtual service or pool that differs.
func (r *reader) allAdvertisements() {
	for at := range r.plan.parts {
		known := r.plan.parts[at].advertisement
		if known != nil && r.isAboutFresh(&known.Demand) {
			r.plan.parts[at].advertisement = r.advertisement(r.plan.resource(at).GetAdvertisement())
		}
	}
	for _, at := range r.unread {
		if wire := r.plan.resource(at).GetAdvertisement(); wire != nil {
			r.plan.parts[at].advertisement = r.advertisement(wire)
		}
	}
}

// isAboutFresh tells whether a virtual service, its group of pools, or one of its pools differs.
func (r *reader) isAboutFresh(known *Demand) bool {
	isFresh := func(pool *Pool) bool { return r.fresh[pool.UUID] }
	return r.fresh[known.Service] || r.fresh[r.service(known.Service).GetPoolGroupUuid()] ||
		slices.ContainsFunc(known.Pools, isFresh) || slices.ContainsFunc(known.Counted, isFresh)
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
func (r *reader) listeners(service *dataplanev1.VirtualService) (read []Listener) {
	if !parts.Listens(service) {
		return nil
	}
	object := Object{"virtualservice", service.GetUuid(), service.GetName()}
	for i, listener := range service.GetListeners() {
		field := fmt.Sprintf("services[%d]", i)
		address, err := netip.ParseAddr(listener.GetAddress())
		if port := listener.GetPort(); err != nil || port == 0 || port > 65535 {
			r.find(object, field, "cannot listen on %s:%d: not an address and port", listener.GetAddress(), port)
		}
		protocol, known := ProtocolOf(listener.GetProtocol())
		if !known {
			r.find(object, field, "cannot listen for protocol %d: upgrade the engine", listener.GetProtocol())
		}
		read = append(read, Listener{
			At: netip.AddrPortFrom(address, uint16(listener.GetPort())), Protocol: protocol, Service: object,
			Field: field,
		})
	}
	return read
}

func (r *reader) router(wire *enginev1.BgpRouter) *Router {
	object := Object{"vrfcontext", wire.GetUuid(), wire.GetName()}
	router := &Router{UUID: wire.GetUuid(), Name: wire.GetName(), LocalAS: wire.GetLocalAs()}
	for i, peer := range wire.GetPeers() {
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
	return router
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

func (r *reader) advertisement(wire *enginev1.Advertisement) *Advertisement {
	service := r.service(wire.GetVirtualServiceUuid())
	object := Object{"virtualservice", wire.GetVirtualServiceUuid(), service.GetName()}
	read := &Advertisement{
		Demand:     r.demand(service, wire.GetMinPoolsUp(), wire.GetCountedPoolUuids()),
		Draws:      service != nil && service.GetDuty() == dataplanev1.Duty_DUTY_SERVE,
		PeerLabels: wire.GetPeerLabels(), LocalPreference: wire.GetLocalPreference(),
		ASPathPrepend: wire.GetAsPathPrepend(),
		WhileDown:     wire.GetWhileDown(),
	}
	read.Service = wire.GetVirtualServiceUuid() // also of one that the Plan does not have
	for i, route := range wire.GetRoutes() {
		address := r.address(route.GetAddress(), object, fmt.Sprintf("vip[%d]", i))
		read.VIPs = append(read.VIPs, VIP{Address: address, Communities: route.GetCommunities()})
	}
	for _, hop := range wire.GetNextHops() {
		read.Engines = append(read.Engines, r.address(hop, object, "next_hops"))
	}
	return read
}

// poolsOf are the pools that serve the clients of a virtual service, and those that take over; nil: it needs none.
// Pools that rules choose are not among them: it is up without these.
func (r *reader) poolsOf(service *dataplanev1.VirtualService) []*Pool {
	return r.poolsIn(service.GetPoolUuid(), service.GetPoolGroupUuid())
}

// chosenPools are the pools that rules for connections choose, and those that take over for them.
func (r *reader) chosenPools(service *dataplanev1.VirtualService) (pools []*Pool) {
	for _, rule := range service.GetPoolRules() {
		pools = append(pools, r.poolsIn(rule.GetPool().GetPoolUuid(), rule.GetPool().GetPoolGroupUuid())...)
	}
	return pools
}

// poolsIn are a pool, or those of a group, and those that take over, each once; nil: neither is named.
func (r *reader) poolsIn(poolUUID, groupUUID string) (pools []*Pool) {
	add := func(uuid string) {
		if uuid == "" || slices.ContainsFunc(pools, func(pool *Pool) bool { return pool.UUID == uuid }) {
			return
		}
		pools = append(pools, r.poolOf(uuid))
	}
	add(poolUUID)
	if groupUUID != "" {
		pools = []*Pool{} // an empty group serves nobody
		group := r.group(groupUUID)
		for _, member := range group.GetMembers() {
			add(member.GetPoolUuid())
		}
		add(group.GetFailAnswer().GetBackupPoolUuid())
	}
	for _, pool := range slices.Clone(pools) {
		add(pool.Backup)
	}
	return pools
}

// poolOf is a pool of the Plan; one without servers if there is none such.
func (r *reader) poolOf(uuid string) *Pool {
	if pool := r.part(uuid).pool; pool != nil {
		return pool
	}
	return &Pool{UUID: uuid, MinServers: 1}
}

// group is a group of pools of the Plan; nil: there is none such.
func (r *reader) group(uuid string) *dataplanev1.PoolGroup {
	if at, found := r.plan.find(uuid); found {
		return r.plan.resource(at).GetPoolGroup()
	}
	return nil
}

// service is a virtual service of the Plan; nil: there is none such.
func (r *reader) service(uuid string) *dataplanev1.VirtualService {
	if at, found := r.plan.find(uuid); found {
		return r.plan.resource(at).GetVirtualService()
	}
	return nil
}

// part is what a resource of the Plan was read as; empty: there is none such.
func (r *reader) part(uuid string) part {
	if at, found := r.plan.find(uuid); found {
		return r.plan.parts[at]
	}
	return part{}
}

func (r *reader) pool(wire *enginev1.Pool) *Pool {
	pool := wire.GetPool()
	read := &Pool{
		UUID: pool.GetUuid(), ServerName: pool.GetServerTls().GetServerName(),
		MinUp: int(wire.GetMinHealthMonitorsUp()), HTTP2: pool.GetHttp2() != nil,
		AppendPort: AppendPort(wire.GetAppendPort()), UseServicePort: pool.GetUseServicePort(),
		MinServers: max(1, int(pool.GetMinServersUp())),
		Backup:     pool.GetFailAnswer().GetBackupPoolUuid(),

		TasksInterval: time.Duration(wire.GetTasksIntervalMs()) * time.Millisecond,
	}
	for _, uuid := range wire.GetHealthMonitorUuids() {
		if monitor := r.part(uuid).monitor; monitor != nil {
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
	return read
}

func seconds(n uint32) time.Duration      { return time.Duration(n) * time.Second }
func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
