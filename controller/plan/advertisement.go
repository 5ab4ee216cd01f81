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

// AdvertisementUUID is the uuid of the resource that advertises a virtual service.
func AdvertisementUUID(virtualServiceUUID string) string { return virtualServiceUUID + "/routes" }

// advertisement is what leads clients to a virtual service; nil: its enable_rhi is false, or there is no router to
// tell.
func advertisement(subject subject, vs *model.VirtualService, report *report) *enginev1.Resource {
	switch {
	case !vs.EnableRHI, vs.VrfContext == nil: // model has said why there is none
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
		WhileDown:          vs.AdvertiseDownVS,
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

// located says where the engines of a virtual service are reached, in its advertisement by one of them. That one alone
// is named where the group has engines pass nothing on to each other.
func located(draft *draft, assignment place.Assignment, engineUUID string) *enginev1.Resource {
	made := proto.CloneOf(draft.advertisement)
	into := made.GetAdvertisement()
	for _, seat := range assignment.Seats {
		if seat.NextHop.IsValid() && (seat.Engine == engineUUID || !draft.vs.Group.DisableFlowProbes) {
			into.NextHops = append(into.NextHops, seat.NextHop.String())
		}
	}
	slices.Sort(into.GetNextHops())
	return made
}

// advertised are settings that a virtual service and its VsVip both have; the VsVip's count where it says something.
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

// communitiesOf are those of the first range that has the address, else those of all.
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
		if community, err := kinds.Community(text); err == nil { // admit has checked it
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
