package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// unsaidBFD is for a virtual routing context without a bfd_profile: a router or an engine that dies is noticed in 0.9 s.
var unsaidBFD = kinds.BFDProfile{MinTxMs: 300, MinRxMs: 300, Multiplier: 3}

var unheededOfVrfContext = []unheeded[kinds.VrfContext]{
	{"static_routes", func(vrf *kinds.VrfContext) bool { return len(vrf.StaticRoutes) > 0 },
		"engines have the routes of their machines: has no effect, give them there"},
	{"gateway_mon", func(vrf *kinds.VrfContext) bool { return len(vrf.GatewayMonitors) > 0 }, watchesNoGateway},
	{"internal_gateway_monitor", func(vrf *kinds.VrfContext) bool {
		return vrf.InternalGatewayMonitor != nil && !vrf.InternalGatewayMonitor.Disabled
	}, watchesNoGateway},
}

const watchesNoGateway = "engines watch the routers that they announce to, by BFD and BGP, and no gateways: has no effect, see bfd_profile"

var unheededOfBGP = []unheeded[kinds.BGPProfile]{
	{"routing_options", func(p *kinds.BGPProfile) bool { return len(p.RoutingOptions) > 0 },
		"engines announce their VIPs, and neither learn nor pass on other routes: has no effect"},
}

var unheededOfBGPPeer = []unheeded[kinds.BGPPeer]{
	{"network_ref", func(p *kinds.BGPPeer) bool { return p.NetworkRef != "" },
		"engines go by subnet and subnet6: has no effect"},
	{"advertisement_interval", func(p *kinds.BGPPeer) bool {
		return p.AdvertisementIntervalS != schema.Defaults[kinds.BGPPeer]().AdvertisementIntervalS
	}, "engines announce and withdraw routes at once: has no effect"},
	{"bfd", func(p *kinds.BGPPeer) bool { return p.BFD && p.EBGPMultihop > 1 },
		"engines speak single-hop BFD, and this peer is at ebgp_multihop hops: it is spoken to without BFD"},
}

// bgpRouter is how engines speak BGP in a virtual routing context that has a profile for it.
func bgpRouter(vrf *kinds.VrfContext, report *report) *enginev1.Resource {
	subject := about("vrfcontext", vrf.Identity, vrf.Named)
	warnUnheeded(subject, "", unheededOfVrfContext, vrf, report)
	warnUnheeded(subject, "bgp_profile.", unheededOfBGP, vrf.BGP, report)
	router := &enginev1.BgpRouter{Uuid: vrf.UUID, Name: vrf.Name, LocalAs: vrf.BGP.LocalAS}
	for i := range vrf.BGP.Peers {
		peer := &vrf.BGP.Peers[i]
		warnUnheeded(subject, fmt.Sprintf("bgp_profile.peers[%d].", i), unheededOfBGPPeer, peer, report)
		if !peer.Shutdown && !vrf.BGP.Shutdown {
			router.Peers = append(router.Peers, bgpPeers(vrf, peer)...)
		}
	}
	slices.SortFunc(router.GetPeers(), func(a, b *enginev1.BgpPeer) int { return strings.Compare(a.GetAddress(), b.GetAddress()) })
	return &enginev1.Resource{Uuid: vrf.UUID, Body: &enginev1.Resource_BgpRouter{BgpRouter: router}}
}

// bgpPeers makes one session for each address of a peer.
func bgpPeers(vrf *kinds.VrfContext, from *kinds.BGPPeer) []*enginev1.BgpPeer {
	var sessions []*enginev1.BgpPeer
	for _, at := range []struct {
		ip     *kinds.IPAddr
		subnet *kinds.IPAddrPrefix
	}{{from.PeerIP, from.Subnet}, {from.PeerIP6, from.Subnet6}} {
		if at.ip == nil {
			continue
		}
		session := bgpPeer(vrf, from)
		session.Address = at.ip.Address().String()
		if at.subnet != nil {
			session.Subnet = at.subnet.Prefix().String()
		}
		sessions = append(sessions, session)
	}
	return sessions
}

func bgpPeer(vrf *kinds.VrfContext, from *kinds.BGPPeer) *enginev1.BgpPeer {
	keepalive, hold := from.Timers(vrf.BGP)
	session := &enginev1.BgpPeer{
		Label:         from.Label,
		LocalAs:       vrf.BGP.Local(from),
		RemoteAs:      vrf.BGP.Remote(from),
		Md5Secret:     from.MD5Secret,
		KeepaliveS:    keepalive,
		HoldS:         hold,
		ConnectRetryS: from.ConnectTimerS,
		MultihopTtl:   from.EBGPMultihop,
		AdvertiseVips: from.AdvertiseVip,
	}
	if from.BFD && from.EBGPMultihop <= 1 {
		session.Bfd = bfdTimers(vrf.BFD)
	}
	return session
}

func bfdTimers(profile *kinds.BFDProfile) *enginev1.BfdTimers {
	timers := cmp.Or(profile, &unsaidBFD)
	return &enginev1.BfdTimers{MinTxMs: timers.MinTxMs, MinRxMs: timers.MinRxMs, Multiplier: timers.Multiplier}
}

// speakBGP adds the router of the engine, and the advertisements that it can make. An engine has one routing table, and
// so one virtual routing context. While none of its services is advertised it speaks to the routers of the one that
// engines are in by default, so that the first can be announced at once.
func (a *assembly) speakBGP(m *model.Model, placement place.Placement, engineUUID string) {
	vrf := a.routingContext()
	if vrf == nil {
		vrf = homeOf(m, engineUUID)
	}
	if vrf == nil {
		return
	}
	var report report
	router := bgpRouter(vrf, &report)
	a.resources[vrf.UUID] = router
	for _, draft := range a.advertised {
		if draft.vs.VrfContext != vrf {
			report.warn(draft.subject, "vrf_context_ref", "is %s, and the engine speaks BGP in %s already: its addresses are not advertised by this engine",
				draft.vs.VrfContext.Name, vrf.Name)
			continue
		}
		a.resources[AdvertisementUUID(draft.vs.UUID)] = located(draft, placement.Assignment(draft.vs.UUID), engineUUID)
	}
	a.findings = append(a.findings, report.findings...)
}

func (a *assembly) routingContext() *kinds.VrfContext {
	if len(a.advertised) == 0 {
		return nil
	}
	first := slices.MinFunc(a.advertised, func(x, y *draft) int { return strings.Compare(x.vs.VrfContext.UUID, y.vs.VrfContext.UUID) })
	return first.vs.VrfContext
}

// homeOf is the virtual routing context "global" of the engine's cloud, that of the default cloud by whatever name; nil:
// there is none that speaks BGP.
func homeOf(m *model.Model, engineUUID string) *kinds.VrfContext {
	builtIn := schema.BuiltinUUID("vrfcontext", "global")
	for _, engine := range m.Engines {
		if engine.UUID != engineUUID {
			continue
		}
		for _, vrf := range m.VrfContexts {
			if (vrf.Name == "global" || vrf.UUID == builtIn) && vrf.CloudRef == engine.CloudRef && vrf.BGP != nil {
				return vrf
			}
		}
	}
	return nil
}
