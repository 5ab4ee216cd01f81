package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// AdvertisementUUID returns the uuid of the resource that advertises a virtual service.
func AdvertisementUUID(virtualServiceUUID string) string { return virtualServiceUUID + "/routes" }

// advertisement makes the resource that advertises the addresses of a virtual service; nil: enable_rhi is false, or
// there is no router to tell.
func advertisement(subject subject, vs *model.VirtualService, report *report) *enginev1.Resource {
	switch {
	case !vs.EnableRHI, vs.VrfContext == nil: // model has a finding about a missing VrfContext
		return nil
	case vs.VrfContext.BGP == nil:
		report.warn(subject, "enable_rhi", "vrfcontext %s has no bgp_profile: its addresses are not advertised",
			vs.VrfContext.Name)
		return nil
	}
	profile, said := vs.VrfContext.BGP, vipSettings(vs)
	compiled := &enginev1.Advertisement{
		Uuid:               AdvertisementUUID(vs.UUID),
		VirtualServiceUuid: vs.UUID,
		PeerLabels:         vs.PeerLabels(),
		LocalPreference:    cmp.Or(said.localPreference, profile.LocalPreference),
		AsPathPrepend:      cmp.Or(said.asPathPrepend, profile.ASPathPrepend),
		WhileDown:          vs.AdvertiseDownVS || vs.IsParent(), // its children have pools of their own
		MinPoolsUp:         vs.MinPoolsUp,
	}
	if vs.MinPoolsUp > 0 {
		compiled.CountedPoolUuids = countedPools(vs)
	}
	for _, address := range vs.Addresses {
		compiled.Routes = append(compiled.Routes, &enginev1.Route{Address: address.String(),
			Communities: communitiesOf(profile, address)})
		if len(vs.RoutersOf(address)) == 0 {
			report.warn(subject, "enable_rhi", "no peer of vrfcontext %s is there for %s%s: it is not advertised",
				vs.VrfContext.Name, address, labelled(vs.PeerLabels()))
		}
	}
	return &enginev1.Resource{Uuid: compiled.GetUuid(), Body: &enginev1.Resource_Advertisement{Advertisement: compiled}}
}

// located returns the advertisement of a virtual service for one engine. Its next hops are those of all engines with a
// seat. If the group has disable_flow_probes, engines pass no packets on to each other, and the only next hop is that
// of this engine.
func located(draft *draft, assignment place.Assignment, engineUUID string) *enginev1.Resource {
	made := proto.CloneOf(draft.advertisement)
	into := made.GetAdvertisement()
	passesOn := draft.vs.Group == nil || !draft.vs.Group.DisableFlowProbes // nil: the group cannot be read
	for _, seat := range assignment.Seats {
		if seat.NextHop.IsValid() && (seat.Engine == engineUUID || passesOn) {
			into.NextHops = append(into.NextHops, seat.NextHop.String())
		}
	}
	slices.Sort(into.GetNextHops())
	return made
}

// advertised has the settings that a virtual service and its VsVip both have. A value of the VsVip takes precedence.
type advertised struct {
	localPreference, asPathPrepend uint32
}

func vipSettings(vs *model.VirtualService) advertised {
	own := advertised{vs.BGPLocalPreference, vs.BGPASPathPrepend}
	shared := vs.SharedVip
	if shared == nil {
		return own
	}
	own.localPreference = cmp.Or(shared.BGPLocalPreference, own.localPreference)
	own.asPathPrepend = cmp.Or(shared.BGPASPathPrepend, own.asPathPrepend)
	return own
}

// communitiesOf returns the communities of the first range that contains the address. If no range does, it returns
// those of the profile.
func communitiesOf(profile *kinds.BGPProfile, address netip.Addr) []uint32 {
	if !profile.SendCommunity {
		return nil
	}
	texts := profile.Communities
	at := slices.IndexFunc(profile.IPCommunities, func(c kinds.IPCommunity) bool { return c.Covers(address) })
	if at >= 0 {
		texts = profile.IPCommunities[at].Communities
	}
	var communities []uint32
	for _, text := range texts {
		if community, err := kinds.Community(text); err == nil { // admit has checked the text
			communities = append(communities, community)
		}
	}
	return communities
}

func labelled(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return fmt.Sprintf(" with a label of %q", labels)
}
