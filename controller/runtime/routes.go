package runtime

import (
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// bgpStates are the states of RFC 4271 §8.2.2 as routers write them.
var bgpStates = map[enginev1.BgpState]string{
	enginev1.BgpState_BGP_STATE_IDLE:         "Idle",
	enginev1.BgpState_BGP_STATE_CONNECT:      "Connect",
	enginev1.BgpState_BGP_STATE_ACTIVE:       "Active",
	enginev1.BgpState_BGP_STATE_OPEN_SENT:    "OpenSent",
	enginev1.BgpState_BGP_STATE_OPEN_CONFIRM: "OpenConfirm",
	enginev1.BgpState_BGP_STATE_ESTABLISHED:  "Established",
}

// EnginePeers returns the BGP sessions of an engine, as it last reported them.
func (p *Pages) EnginePeers(uuid string) []schema.Object { return peersOf(p.routing(uuid)) }

// EngineRoutes returns the routes that an engine announces.
func (p *Pages) EngineRoutes(uuid string) []schema.Object { return routesOf(p.routing(uuid)) }

// EngineBFD returns the BFD sessions, one for each BGP session that asks for it.
func (p *Pages) EngineBFD(uuid string) []schema.Object {
	sessions := []schema.Object{}
	for _, peer := range p.routing(uuid).GetPeers() {
		if peer.GetBfd() != enginev1.BfdState_BFD_STATE_OFF {
			sessions = append(sessions, schema.Object{"peer_ip": peer.GetAddress(), "session_state": bfdState(peer)})
		}
	}
	return sessions
}

func (p *Pages) routing(uuid string) (routing *enginev1.Routing) {
	p.fleet.Read(func(known *fleet.Known) {
		if engine := known.Engine(uuid); engine != nil {
			routing = engine.Routing
		}
	})
	return routing
}

func peersOf(routing *enginev1.Routing) []schema.Object {
	peers := []schema.Object{}
	for _, peer := range routing.GetPeers() {
		shown := schema.Object{
			"peer_ip": peer.GetAddress(), "label": peer.GetLabel(), "local_as": int64(peer.GetLocalAs()),
			"remote_as":  int64(peer.GetRemoteAs()),
			"peer_state": bgpStates[peer.GetState()], "since": unixMs(peer.GetSinceUnixMs()),
			"bfd_state":         bfdState(peer),
			"established_count": int64(peer.GetEstablishedCount()),
		}
		if fleet.IsUp(peer) {
			shown["local_ip"], shown["router_id"] = peer.GetLocalAddress(), peer.GetRouterId()
			shown["hold_time"] = int64(peer.GetHoldS())
		} else {
			shown["reason"] = peer.GetReason()
		}
		peers = append(peers, shown)
	}
	return peers
}

func routesOf(routing *enginev1.Routing) []schema.Object {
	routes := []schema.Object{}
	for _, route := range routing.GetRoutes() {
		services := []any{}
		for _, service := range route.GetVirtualServiceUuids() {
			services = append(services, schema.RefPath("virtualservice", service))
		}
		routes = append(routes, schema.Object{
			"prefix": route.GetPrefix(), "peers": stringList(route.GetPeers()),
			"communities":         communities(route.GetCommunities()),
			"local_preference":    int64(route.GetLocalPreference()),
			"num_as_path_prepend": int64(route.GetAsPathPrepend()),
			"virtualservice_refs": services, "since": unixMs(route.GetSinceUnixMs()),
		})
	}
	return routes
}

// bfdState returns "Up", "Init", "Down", or "Off".
func bfdState(peer *enginev1.PeerState) string {
	name := strings.ToLower(strings.TrimPrefix(peer.GetBfd().String(), "BFD_STATE_"))
	return strings.ToUpper(name[:1]) + name[1:]
}

func communities(list []uint32) []any {
	shown := make([]any, len(list))
	for i, community := range list {
		shown[i] = kinds.CommunityText(community)
	}
	return shown
}

// detoursOf returns the counters of strays: packets that reached the wrong engine.
func detoursOf(counted *enginev1.Detours) schema.Object {
	return schema.Object{
		"strays": int64(counted.GetStrays()), "searched": int64(counted.GetSearched()),
		"found":     int64(counted.GetFound()),
		"passed_on": int64(counted.GetPassedOn()), "taken": int64(counted.GetTaken()),
		"unowned": int64(counted.GetUnowned()),
		"dropped": int64(counted.GetDropped()),
	}
}
