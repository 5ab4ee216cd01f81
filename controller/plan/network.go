package plan

import (
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/shadow"
)

// addNetworkPolicy adds the rules that say who may connect. A virtual service that names some is not served without
// them.
func (c *Compiler) addNetworkPolicy(d *draft) {
	const field = "network_security_policy_ref"
	switch {
	case d.vs.NetworkSecurityPolicyRef == "":
		return
	case d.vs.IsChild():
		d.report.block(d.subject, field,
			"is for who connects, and clients connect to the parent: give it to the parent")
		return
	case d.vs.NetworkPolicy == nil:
		d.report.blocked = true // model has a finding about that
		return
	}
	policy := d.vs.NetworkPolicy
	if c.networkPolicies[policy] == nil {
		c.networkPolicies[policy] = c.compileNetworkPolicy(policy)
	}
	compiled := c.networkPolicies[policy]
	d.report.findings = append(d.report.findings, compiled.report.findings...)
	d.report.blocked = d.report.blocked || compiled.report.blocked
	d.service.NetworkPolicyUuid = policy.UUID
	d.parts = append(d.parts, compiled.parts...)
	d.noteShadowsOfNetwork(compiled)
}

// compileNetworkPolicy makes the groups that the rules name, then the policy. They are the same in the Plans of all
// virtual services that use it.
func (c *Compiler) compileNetworkPolicy(policy *model.NetworkPolicy) *compiledSet {
	compiled := &compiledSet{parts: c.addressGroupsOf(policy.AddressGroups)}
	to := networkPolicyOf(policy, &compiled.report)
	if !compiled.report.blocked {
		compiled.connections = shadow.OfConnections(to, groupsIn(compiled.parts))
		compiled.found = compiled.connections.Find()
		compiled.report.shadowed(about("networksecuritypolicy", policy.Identity, policy.Named), compiled.found)
	}
	body := &enginev1.Resource_NetworkPolicy{NetworkPolicy: to}
	compiled.parts = append(compiled.parts, partOf(&enginev1.Resource{Uuid: policy.UUID, Body: body}))
	return compiled
}

// networkPolicyOf converts the rules in force.
func networkPolicyOf(policy *model.NetworkPolicy, report *report) *dataplanev1.NetworkPolicy {
	to := &dataplanev1.NetworkPolicy{Uuid: policy.UUID, Name: policy.Name}
	for _, placed := range policy.RulesInForce() {
		rule := placed.Rule
		at := fmt.Sprintf("rules[%d].match.geo_matches", placed.At)
		if problem := kinds.CheckPlaces(at, rule.Match.GeoMatches); problem != nil {
			report.block(about("networksecuritypolicy", policy.Identity, policy.Named), problem.Field, "%s",
				problem.Problem)
			continue
		}
		client := addressMatch(rule.Match.ClientIP, policy.AddressGroups, report)
		client, located := withPlace(client,
			placeMatch(rule.Match.GeoMatches, policy.AddressGroups, report))
		made := &dataplanev1.NetworkRule{
			Name: rule.Name, Position: uint32(placed.At), UntilUnixS: untilOf(policy.LastModified, rule.Age),
			Log: rule.Log,
			Match: &dataplanev1.ConnectionMatch{
				Client:       client,
				ClientPort:   portsOrRanges(rule.Match.ClientPort),
				ListenerPort: ports(rule.Match.VSPort),
				Place:        located,
			},
		}
		switch rule.Action {
		case kinds.AllowConnections:
			made.Action = &dataplanev1.NetworkRule_Allow{Allow: &dataplanev1.Allow{}}
		case kinds.DenyConnections:
			made.Action = &dataplanev1.NetworkRule_Deny{Deny: &dataplanev1.Close{Reset_: true}}
		case kinds.LimitConnections:
			rate := &dataplanev1.ConnectionRate{PerS: rule.Rate.MaxRate, Burst: rule.Rate.BurstSize}
			made.Action = &dataplanev1.NetworkRule_Rate{Rate: rate}
		}
		to.Rules = append(to.Rules, made)
	}
	return to
}

func portsOrRanges(from *kinds.PortMatchGeneric) *dataplanev1.NumberMatch {
	if from == nil {
		return nil
	}
	return portMatch(from.Criteria, from.Ports, from.Ranges)
}

func portMatch(criteria string, ports []uint32, ranges []kinds.PortRange) *dataplanev1.NumberMatch {
	to := &dataplanev1.NumberMatch{Negated: isNegated(criteria)}
	for _, port := range ports {
		to.Ranges = append(to.Ranges, &dataplanev1.NumberRange{First: port, Last: port})
	}
	for _, span := range ranges {
		to.Ranges = append(to.Ranges, &dataplanev1.NumberRange{First: span.Start, Last: span.End})
	}
	return to
}
