package route

import (
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	// gracefulShutdown asks routers to prefer another path (RFC 8326 §5).
	gracefulShutdown = 65535 << 16
	// originIGP: the route originates in our autonomous system (RFC 4271 §4.3).
	originIGP = 0
	// segmentSequence is an ordered part of an AS path (RFC 4271 §4.3).
	segmentSequence = 2
)

// origin is the autonomous system that announces a route, and whether its peers are in another one.
type origin struct {
	as       uint32
	external bool
}

// originOf: either all peers of a router are external, or none is.
func originOf(router *plan.Router) origin {
	from := origin{as: router.LocalAS}
	for _, peer := range router.Peers {
		from.external = peer.LocalAS != peer.RemoteAS
	}
	return from
}

// path is a route in BGP's form. The next hop is left open: each session fills in its own address.
func path(route Route, from origin) *apiutil.Path {
	address := route.Prefix.Addr()
	family, unspecified := bgp.RF_IPv4_UC, netip.IPv4Unspecified()
	if address.Is6() {
		family, unspecified = bgp.RF_IPv6_UC, netip.IPv6Unspecified()
	}
	nlri, _ := bgp.NewIPAddrPrefix(route.Prefix) // a Prefix of decide is a valid one
	attributes := []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(originIGP),
		nextHop(family, nlri, unspecified)}
	if communities := communitiesOf(route); len(communities) > 0 {
		attributes = append(attributes, bgp.NewPathAttributeCommunities(communities))
	}
	return &apiutil.Path{Family: family, Nlri: nlri, Attrs: append(attributes, preference(route, from)...)}
}

func nextHop(family bgp.Family, nlri bgp.NLRI, address netip.Addr) bgp.PathAttributeInterface {
	if family == bgp.RF_IPv4_UC {
		attribute, _ := bgp.NewPathAttributeNextHop(address)
		return attribute
	}
	attribute, _ := bgp.NewPathAttributeMpReachNLRI(family, []bgp.PathNLRI{{NLRI: nlri}}, address)
	return attribute
}

// preference adds the attributes by which internal routers prefer a route, or external ones avoid it.
func preference(route Route, from origin) []bgp.PathAttributeInterface {
	switch {
	case from.external && route.ASPathPrepend > 0:
		sequence := slices.Repeat([]uint32{from.as}, int(route.ASPathPrepend))
		return []bgp.PathAttributeInterface{bgp.NewPathAttributeAsPath(
			[]bgp.AsPathParamInterface{bgp.NewAs4PathParam(segmentSequence, sequence)})}
	case from.external:
		return nil
	case route.Leaving:
		return []bgp.PathAttributeInterface{bgp.NewPathAttributeLocalPref(0)}
	case route.LocalPreference > 0:
		return []bgp.PathAttributeInterface{bgp.NewPathAttributeLocalPref(route.LocalPreference)}
	}
	return nil
}

func communitiesOf(route Route) []uint32 {
	if route.Leaving {
		return append(slices.Clip(slices.Clone(route.Communities)), gracefulShutdown)
	}
	return route.Communities
}
