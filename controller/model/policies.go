package model

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// resolvePolicySet turns the references of the rules in force into pointers.
func (k *Keeper) resolvePolicySet(from *source, set *HTTPPolicySet) {
	set.StringGroups, set.AddressGroups = map[string]*kinds.StringGroup{}, map[string]*AddressGroup{}
	for _, rule := range set.SecurityRules() {
		k.resolveMatch(from, set, fmt.Sprintf("http_security_policy.rules[%d].match", rule.At), rule.Rule.Match)
	}
	for _, rule := range set.RequestRules() {
		field := fmt.Sprintf("http_request_policy.rules[%d].", rule.At)
		k.resolveMatch(from, set, field+"match", rule.Rule.Match)
		if switching := rule.Rule.Switching; switching != nil {
			set.Pools = withOnce(set.Pools, follow(from, k.pools, field+"switching_action.pool_ref", switching.PoolRef))
			set.Groups = withOnce(set.Groups,
				follow(from, k.poolGroups, field+"switching_action.pool_group_ref", switching.PoolGroupRef))
		}
	}
	for _, rule := range set.ResponseRules() {
		if match := rule.Rule.Match; match != nil {
			k.resolveMatch(from, set, fmt.Sprintf("http_response_policy.rules[%d].match", rule.At), &match.MatchTarget)
		}
	}
}

func (k *Keeper) resolveMatch(from *source, set *HTTPPolicySet, field string, match *kinds.MatchTarget) {
	if match == nil {
		return
	}
	if clients := match.ClientIP; clients != nil {
		followInto(from, k.addressGroups, field+".client_ip.group_refs", clients.GroupRefs, set.AddressGroups)
	}
	if sources := match.SourceIP; sources != nil {
		followInto(from, k.addressGroups, field+".source_ip.group_refs", sources.GroupRefs, set.AddressGroups)
	}
	k.addPlaces(from, field+".geo_matches", match.GeoMatches, set.AddressGroups)
	if path := match.Path; path != nil {
		followInto(from, k.stringGroups, field+".path.string_group_refs", path.GroupRefs, set.StringGroups)
	}
	if query := match.Query; query != nil {
		followInto(from, k.stringGroups, field+".query.string_group_refs", query.GroupRefs, set.StringGroups)
	}
}

func (k *Keeper) resolveL4Set(from *source, set *L4PolicySet) {
	set.AddressGroups = map[string]*AddressGroup{}
	for _, rule := range set.Rules() {
		field := fmt.Sprintf("l4_connection_policy.rules[%d].", rule.At)
		if match := rule.Rule.Match; match != nil && match.ClientIP != nil {
			followInto(from, k.addressGroups, field+"match.client_ip.group_refs", match.ClientIP.GroupRefs,
				set.AddressGroups)
		}
		chosen := rule.Rule.Action.SelectPool
		set.Pools = withOnce(set.Pools, follow(from, k.pools, field+"action.select_pool.pool_ref", chosen.PoolRef))
		set.Groups = withOnce(set.Groups,
			follow(from, k.poolGroups, field+"action.select_pool.pool_group_ref", chosen.PoolGroupRef))
	}
}

// resolveL4 finds the sets of policies of layer 4, and the pools of ports.
func (k *Keeper) resolveL4(from *source, vs *VirtualService) {
	for _, at := range vs.L4PolicyOrder() {
		field := fmt.Sprintf("l4_policies[%d].l4_policy_set_ref", at)
		if set := follow(from, k.l4Sets, field, vs.L4Policies[at].SetRef); set != nil {
			vs.L4Sets = append(vs.L4Sets, set)
		}
	}
	for i, selector := range vs.ServicePools {
		field := fmt.Sprintf("service_pool_select[%d].", i)
		vs.PortPools = withOnce(vs.PortPools, follow(from, k.pools, field+"service_pool_ref", selector.PoolRef))
		vs.PortGroups = withOnce(vs.PortGroups,
			follow(from, k.poolGroups, field+"service_pool_group_ref", selector.PoolGroupRef))
	}
}

// withOnce adds an object to a list, unless it is nil or in the list.
func withOnce[T any](list []*T, one *T) []*T {
	if one == nil || slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

func (k *Keeper) resolveNetworkPolicy(from *source, policy *NetworkPolicy) {
	policy.AddressGroups = map[string]*AddressGroup{}
	for _, rule := range policy.RulesInForce() {
		if clients := rule.Rule.Match.ClientIP; clients != nil {
			field := fmt.Sprintf("rules[%d].match.client_ip.group_refs", rule.At)
			followInto(from, k.addressGroups, field, clients.GroupRefs, policy.AddressGroups)
		}
		field := fmt.Sprintf("rules[%d].match.geo_matches", rule.At)
		k.addPlaces(from, field, rule.Rule.Match.GeoMatches, policy.AddressGroups)
	}
}

// followInto adds the objects that references name to a map, by reference.
func followInto[T any](from *source, to table[T], field string, references []string, into map[string]*T) {
	for i, reference := range references {
		if target := follow(from, to, fmt.Sprintf("%s[%d]", field, i), reference); target != nil {
			into[reference] = target
		}
	}
}
