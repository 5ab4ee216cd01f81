package plan

import (
	"fmt"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/shadow"
)

// addPoolRules adds what chooses the pool of a connection: service_pool_select first, then the sets of policies of
// layer 4. To leave out a rule would send clients to other servers than they are for, so it blocks the virtual service.
func (c *Compiler) addPoolRules(d *draft) {
	shadows := &l4Rules{field: map[*shadow.Rule]string{}}
	for i := range d.vs.ServicePools {
		d.addPortPool(fmt.Sprintf("service_pool_select[%d]", i), &d.vs.ServicePools[i])
	}
	for _, rule := range d.service.GetPoolRules() {
		shadows.add(shadow.OfPools(rule, "", rule.GetField(), rule.GetName(), &shadow.Groups{}), rule.GetField())
	}
	if len(d.vs.L4Policies) > 0 && d.vs.HTTP != nil {
		d.report.block(d.subject, "l4_policies", "are for profiles of layer 4: use rules of http_policies, or "+
			"service_pool_select for pools of ports")
		return
	}
	if len(d.vs.L4Sets) < len(d.vs.L4Policies) {
		d.report.blocked = true // model has a finding about that
	}
	for at, set := range d.vs.L4Sets {
		field := fmt.Sprintf("l4_policies[%d]", d.vs.L4PolicyOrder()[at])
		for _, placed := range set.Rules() {
			d.addL4Rule(set, placed, field)
		}
		groups := c.addressGroupsOf(set.AddressGroups)
		d.parts = append(d.parts, groups...)
		shadows.read(d, set, groupsIn(groups), field)
	}
	d.noteShadowsOfL4(shadows)
	if made := len(d.service.PoolRules); made > poolRulesMax {
		d.report.block(d.subject, "l4_policies",
			"their rules and service_pool_select make %d rules, and engines try at "+
				"most %d, one after the other", made, poolRulesMax)
	}
}

// poolRulesMax is what an engine takes of one virtual service.
const poolRulesMax = 1024

func (d *draft) addPortPool(field string, selector *kinds.ServicePoolSelector) {
	isForPort := func(ports []kinds.Service) bool { return slices.ContainsFunc(ports, selector.IsForPort) }
	if isForPort(d.vs.Services) && !isForPort(d.vs.Ports()) {
		return // it is for another part of the virtual service
	}
	if why := notAt(d.vs, selector); why != "" {
		acts := func(part *model.VirtualService) bool {
			return part.NetworkProfile != nil && notAt(part, selector) == ""
		}
		if slices.ContainsFunc(d.vs.Beside(), acts) {
			return // the same port of the other protocol
		}
		d.report.warn(d.subject, field, "%s: has no effect", why)
		return
	}
	ports := &dataplanev1.NumberMatch{
		Ranges: []*dataplanev1.NumberRange{{First: selector.Port, Last: selector.LastPort()}}}
	d.addPoolRule(&dataplanev1.PoolRule{
		Name: field, Field: field, Match: &dataplanev1.ConnectionMatch{ListenerPort: ports},
	}, model.ByUUID(d.vs.PortPools, selector.PoolRef), model.ByUUID(d.vs.PortGroups, selector.PoolGroupRef))
}

// notAt says why no client comes through the ports of a selector; empty: some may.
func notAt(vs *model.VirtualService, selector *kinds.ServicePoolSelector) string {
	isUDP := vs.UDP != nil
	switch {
	case strings.HasPrefix(selector.Protocol, "PROTOCOL_TYPE_SCTP"):
		return "engines do not speak SCTP"
	case selector.Protocol != "" && strings.HasPrefix(selector.Protocol, "PROTOCOL_TYPE_UDP") != isUDP:
		return fmt.Sprintf("its network profile %s is not of %s", vs.NetworkProfile.Name, selector.Protocol)
	case !slices.ContainsFunc(vs.Ports(), selector.IsForPort):
		return fmt.Sprintf("port %d is none of services", selector.Port)
	}
	return ""
}

// addL4Rule adds a rule, if the virtual service has its protocol. Of its other parts, clients have to fit one.
func (d *draft) addL4Rule(set *model.L4PolicySet, placed kinds.Placed[kinds.L4Rule], field string) {
	rule := placed.Rule
	made := &dataplanev1.PoolRule{Name: set.Name + "/" + rule.Name, Field: field}
	if match := rule.Match; match != nil {
		if match.Protocol != nil && !d.speaks(match.Protocol) {
			return // it matches no client of this virtual service
		}
		made.Match = connectionOfL4(match, set, &d.report)
	}
	chosen := rule.Action.SelectPool
	d.addPoolRule(made, model.ByUUID(set.Pools, chosen.PoolRef), model.ByUUID(set.Groups, chosen.PoolGroupRef))
}

// connectionOfL4 converts what a rule compares beside the protocol; nil: nothing.
func connectionOfL4(
	match *kinds.L4RuleMatchTarget, set *model.L4PolicySet, report *report,
) *dataplanev1.ConnectionMatch {
	if match == nil || match.ClientIP == nil && match.Port == nil {
		return nil
	}
	made := &dataplanev1.ConnectionMatch{Client: addressMatch(match.ClientIP, set.AddressGroups, report)}
	if match.Port != nil {
		made.ListenerPort = portMatch(match.Port.Criteria, match.Port.Ports, match.Port.Ranges)
	}
	return made
}

// What virtual services of layer 4 speak.
const (
	tcpOfL4 = "PROTOCOL_TCP"
	udpOfL4 = "PROTOCOL_UDP"
)

func (d *draft) speaks(match *kinds.L4RuleProtocolMatch) bool {
	spoken := tcpOfL4
	if d.vs.UDP != nil {
		spoken = udpOfL4
	}
	return (match.Protocol == spoken) != isNegated(match.Criteria)
}

// addPoolRule adds a rule that chooses one of the two.
func (d *draft) addPoolRule(rule *dataplanev1.PoolRule, pool *model.Pool, group *model.PoolGroup) {
	switch {
	case pool != nil:
		rule.Pool = &dataplanev1.PoolChoice{PoolUuid: pool.UUID}
	case group != nil:
		rule.Pool = &dataplanev1.PoolChoice{PoolGroupUuid: group.UUID}
	default:
		d.report.blocked = true // model has a finding about that
	}
	d.service.PoolRules = append(d.service.PoolRules, rule)
}
