package model

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// resolvePolicySet turns the references of the rules in force into pointers.
func (k *Keeper) resolvePolicySet(from *source, set *HTTPPolicySet) {
	set.StringGroups, set.AddressGroups = map[string]*kinds.StringGroup{}, map[string]*kinds.IpAddrGroup{}
	for _, rule := range set.SecurityRules() {
		k.resolveMatch(from, set, fmt.Sprintf("http_security_policy.rules[%d].match", rule.At), rule.Rule.Match)
	}
	for _, rule := range set.RequestRules() {
		field := fmt.Sprintf("http_request_policy.rules[%d].", rule.At)
		k.resolveMatch(from, set, field+"match", rule.Rule.Match)
		if switching := rule.Rule.Switching; switching != nil {
			pool := follow(from, k.pools, field+"switching_action.pool_ref", switching.PoolRef)
			if pool != nil && !slices.Contains(set.Pools, pool) {
				set.Pools = append(set.Pools, pool)
			}
			group := follow(from, k.poolGroups, field+"switching_action.pool_group_ref", switching.PoolGroupRef)
			if group != nil && !slices.Contains(set.Groups, group) {
				set.Groups = append(set.Groups, group)
			}
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
	if path := match.Path; path != nil {
		followInto(from, k.stringGroups, field+".path.string_group_refs", path.GroupRefs, set.StringGroups)
	}
	if query := match.Query; query != nil {
		followInto(from, k.stringGroups, field+".query.string_group_refs", query.GroupRefs, set.StringGroups)
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
