package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// unsaidBFD applies in a virtual routing context without a bfd_profile. With it, the death of a router or an engine is
// noticed in 0.9 s.
var unsaidBFD = kinds.BFDProfile{MinTxMs: 300, MinRxMs: 300, Multiplier: 3}

var unheededOfVrfContext = declare("vrfcontext", "", []unheeded[kinds.VrfContext]{
	{"static_routes", func(vrf *kinds.VrfContext) bool { return len(vrf.StaticRoutes) > 0 },
		"engines have the routes of their machines: has no effect, give them there"},
	{"gateway_mon", func(vrf *kinds.VrfContext) bool { return len(vrf.GatewayMonitors) > 0 }, watchesNoGateway},
	{"internal_gateway_monitor", func(vrf *kinds.VrfContext) bool {
		return vrf.InternalGatewayMonitor != nil && !vrf.InternalGatewayMonitor.Disabled
	}, watchesNoGateway},
})

const watchesNoGateway = "engines watch the routers that they announce to, by BFD and BGP, and no gateways: has no effect, see bfd_profile"

var unheededOfBGP = declare("vrfcontext", "bgp_profile.", []unheeded[kinds.BGPProfile]{
	{"routing_options", func(p *kinds.BGPProfile) bool { return len(p.RoutingOptions) > 0 },
		"engines announce their VIPs, and neither learn nor pass on other routes: has no effect"},
})

var unheededOfBGPPeer = declare("vrfcontext", "bgp_profile.peers[%d].", []unheeded[kinds.BGPPeer]{
	{"network_ref", func(p *kinds.BGPPeer) bool { return p.NetworkRef != "" },
		"engines go by subnet and subnet6: has no effect"},
	{"advertisement_interval", func(p *kinds.BGPPeer) bool {
		return p.AdvertisementIntervalS != schema.Defaults[kinds.BGPPeer]().AdvertisementIntervalS
	}, "engines announce and withdraw routes at once: has no effect"},
	{"bfd", func(p *kinds.BGPPeer) bool { return p.BFD && p.EBGPMultihop > 1 },
		"engines speak single-hop BFD, and this peer is at ebgp_multihop hops: it is spoken to without BFD"},
})

// bgpRouter says how engines speak BGP in a virtual routing context with a bgp_profile.
func bgpRouter(vrf *kinds.VrfContext, report *report) *enginev1.Resource {
	subject := about("vrfcontext", vrf.Identity, vrf.Named)
	warnUnheeded(subject, unheededOfVrfContext, vrf, report)
	warnUnheeded(subject, unheededOfBGP, vrf.BGP, report)
	router := &enginev1.BgpRouter{Uuid: vrf.UUID, Name: vrf.Name, LocalAs: vrf.BGP.LocalAS}
	for i := range vrf.BGP.Peers {
		peer := &vrf.BGP.Peers[i]
		warnUnheeded(subject, unheededOfBGPPeer, peer, report, i)
		if !peer.Shutdown && !vrf.BGP.Shutdown {
			router.Peers = append(router.Peers, bgpPeers(vrf, peer)...)
		}
	}
	slices.SortFunc(router.GetPeers(), func(a, b *enginev1.BgpPeer) int {
		return strings.Compare(a.GetAddress(), b.GetAddress())
	})
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

// contextOf returns the virtual routing context in which an engine speaks BGP; nil: none. An engine has one routing
// table, so it speaks BGP in one context only. While none of its services is advertised, it speaks in the default
// context of its cloud, so that the first service can be announced at once.
func (c *Compiler) contextOf(a *assembly, engineUUID string) *kinds.VrfContext {
	if len(a.contexts) == 0 {
		return homeOf(c.model, c.engines[engineUUID])
	}
	return slices.MinFunc(slices.Collect(maps.Keys(a.contexts)), func(x, y *kinds.VrfContext) int {
		return strings.Compare(x.UUID, y.UUID)
	})
}

// speakBGP adds the BGP settings and peers of the engine. It returns the findings about them.
func (a *assembly) speakBGP(edits map[string]*enginev1.Resource) []model.Finding {
	var report report
	if a.spoken != nil {
		edits[a.spoken.UUID] = bgpRouter(a.spoken, &report)
	}
	return report.findings
}

// advertise returns the advertisement of a share; none if the engine speaks BGP in another context.
func (a *assembly) advertise(share *share) []part {
	draft := share.draft
	if draft.vs.VrfContext != a.spoken {
		share.report.warn(draft.subject, "vrf_context_ref",
			"is %s, and the engine speaks BGP in %s already: its addresses are not advertised by this engine",
			draft.vs.VrfContext.Name, a.spoken.Name)
		return nil
	}
	return []part{partOf(located(draft, share.assignment, share.seat.Engine))}
}

// homeOf returns the virtual routing context "global" in the cloud of an engine; nil: there is none with a bgp_profile.
// The built-in context of the default cloud may have another name.
func homeOf(m *model.Model, engine *model.Engine) *kinds.VrfContext {
	builtIn := schema.BuiltinUUID("vrfcontext", "global")
	for _, vrf := range m.VrfContexts {
		if engine != nil && (vrf.Name == "global" || vrf.UUID == builtIn) &&
			vrf.CloudRef == engine.CloudRef && vrf.BGP != nil {
			return vrf
		}
	}
	return nil
}
