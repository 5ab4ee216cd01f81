package route

import (
	"context"
	"errors"
	"net/netip"

	"github.com/osrg/gobgp/v4/api"
)

// globalTable is what GoBGP calls the table that policies for all peers are assigned to.
const globalTable = "global"

// shut lets only our own routes pass. Each peer gets them by a policy that is added for it.
func (s *speaker) shut() error {
	ctx := context.Background()
	own := &api.Policy{Name: "own", Statements: []*api.Statement{{
		Name:       "own",
		Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL},
		Actions:    &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT},
	}}}
	err := s.bgp.AddPolicy(ctx, &api.AddPolicyRequest{Policy: own})
	for _, assignment := range []*api.PolicyAssignment{
		assign(api.PolicyDirection_POLICY_DIRECTION_IMPORT, own), assign(api.PolicyDirection_POLICY_DIRECTION_EXPORT),
	} {
		err = errors.Join(err, s.bgp.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{Assignment: assignment}))
	}
	return err
}

// assign makes policies the only ones that let routes pass in a direction.
func assign(direction api.PolicyDirection, policies ...*api.Policy) *api.PolicyAssignment {
	return &api.PolicyAssignment{
		Name: globalTable, Direction: direction, Policies: policies, DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
	}
}

// allow makes a peer's policy: it lets the routes of the set with the policy's name pass.
func (s *speaker) allow(peer netip.Addr, prefixes []netip.Prefix) error {
	ctx, policy := context.Background(), policyOf(peer)
	err := s.bgp.AddDefinedSet(ctx, &api.AddDefinedSetRequest{DefinedSet: peerSet(peer)})
	err = errors.Join(err, s.bgp.AddDefinedSet(ctx, &api.AddDefinedSetRequest{DefinedSet: prefixSet(
		peer, prefixes...)}))
	err = errors.Join(err, s.bgp.AddPolicy(ctx, &api.AddPolicyRequest{Policy: policy}))
	return errors.Join(err, s.bgp.AddPolicyAssignment(ctx, &api.AddPolicyAssignmentRequest{Assignment: assign(
		api.PolicyDirection_POLICY_DIRECTION_EXPORT, policy)}))
}

func (s *speaker) disallow(peer netip.Addr) error {
	ctx, policy := context.Background(), policyOf(peer)
	err := s.bgp.DeletePolicyAssignment(ctx, &api.DeletePolicyAssignmentRequest{Assignment: assign(
		api.PolicyDirection_POLICY_DIRECTION_EXPORT, policy)})
	err = errors.Join(err, s.bgp.DeletePolicy(ctx, &api.DeletePolicyRequest{Policy: policy, All: true}))
	err = errors.Join(err, s.bgp.DeleteDefinedSet(ctx, &api.DeleteDefinedSetRequest{DefinedSet: peerSet(peer),
		All: true}))
	return errors.Join(err, s.bgp.DeleteDefinedSet(ctx, &api.DeleteDefinedSetRequest{DefinedSet: prefixSet(peer),
		All: true}))
}

func (s *speaker) letThrough(peer netip.Addr, prefix netip.Prefix) error {
	return s.bgp.AddDefinedSet(context.Background(), &api.AddDefinedSetRequest{DefinedSet: prefixSet(peer, prefix)})
}

func (s *speaker) letThroughNoMore(peer netip.Addr, prefix netip.Prefix) error {
	return s.bgp.DeleteDefinedSet(context.Background(), &api.DeleteDefinedSetRequest{DefinedSet: prefixSet(
		peer, prefix)})
}

func policyOf(peer netip.Addr) *api.Policy {
	match := func(name string) *api.MatchSet { return &api.MatchSet{Type: api.MatchSet_TYPE_ANY, Name: name} }
	return &api.Policy{Name: peer.String(), Statements: []*api.Statement{{
		Name: peer.String(),
		Conditions: &api.Conditions{NeighborSet: match(peerSet(peer).GetName()),
			PrefixSet: match(prefixSet(peer).GetName())},
		Actions: &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT},
	}}}
}

func peerSet(peer netip.Addr) *api.DefinedSet {
	return &api.DefinedSet{
		DefinedType: api.DefinedType_DEFINED_TYPE_NEIGHBOR, Name: "peer " + peer.String(),
		List: []string{netip.PrefixFrom(peer, peer.BitLen()).String()},
	}
}

func prefixSet(peer netip.Addr, prefixes ...netip.Prefix) *api.DefinedSet {
	set := &api.DefinedSet{DefinedType: api.DefinedType_DEFINED_TYPE_PREFIX, Name: "routes " + peer.String()}
	for _, prefix := range prefixes {
		bits := uint32(prefix.Bits())
		set.Prefixes = append(set.Prefixes, &api.Prefix{IpPrefix: prefix.String(), MaskLengthMin: bits,
			MaskLengthMax: bits})
	}
	return set
}
