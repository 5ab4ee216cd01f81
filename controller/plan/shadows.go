package plan

import (
	"fmt"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/shadow"
)

// Rules that never have an effect are findings: of a policy, if no virtual service changes that; else of the virtual
// service, whose ports and other policies they are without effect for.

// shadowsMost bounds the findings about one policy, and those about what one virtual service makes of its policies.
const shadowsMost = 20

// shadowed adds findings about the rules of a policy.
func (r *report) shadowed(s subject, found []shadow.Shadowed) {
	r.eachShadow(s, found, func(one shadow.Shadowed) (field, about string) {
		return one.Rule.Field, fmt.Sprintf("rule %q", one.Rule.Name)
	})
}

func (r *report) eachShadow(s subject, found []shadow.Shadowed, name func(shadow.Shadowed) (field, about string)) {
	for i, one := range found {
		field, about := name(one)
		if i == shadowsMost {
			list, _, _ := strings.Cut(field, "[")
			r.warn(s, list, "%d more rules have no effect, as those that are named", len(found)-i)
			return
		}
		r.warn(s, field, "%s %s", about, one.Why)
		r.findings[len(r.findings)-1].Rule = one.Rule.Name
	}
}

// shadowedHere adds findings about rules that have an effect in other virtual services. known are those that have none
// in any; fieldOf says by which field the virtual service has the policy of a rule.
func (d *draft) shadowedHere(found, known []shadow.Shadowed, fieldOf func(*shadow.Rule) string) {
	isKnown := map[*shadow.Rule]bool{}
	for _, one := range known {
		isKnown[one.Rule] = true
	}
	var here []shadow.Shadowed
	for _, one := range found {
		if !isKnown[one.Rule] {
			here = append(here, one)
		}
	}
	d.report.eachShadow(d.subject, here, func(one shadow.Shadowed) (field, about string) {
		about = fmt.Sprintf("rule %q", one.Rule.Name)
		if one.Rule.Object != "" {
			about += fmt.Sprintf(" of %s (%s)", one.Rule.Object, one.Rule.Field)
		}
		return fieldOf(one.Rule), about
	})
}

// groupsIn are the groups among resources.
func groupsIn(parts []part) *shadow.Groups {
	groups := &shadow.Groups{}
	for _, part := range parts {
		if texts := part.GetStringGroup(); texts != nil {
			groups.AddStrings(texts)
		}
		if addresses := part.GetAddressGroup(); addresses != nil {
			groups.AddAddresses(addresses)
		}
	}
	return groups
}

// portsOfRequests are the ports through which clients come, as rules about requests see them: where connections begin
// with PROXY headers, these tell the port. Rules about connections see that of the listener.
func portsOfRequests(vs *model.VirtualService) []shadow.Port {
	accepts := vs.TCP
	if vs.IsChild() {
		accepts = vs.ParentTCP
	}
	ports := portsOf(vs)
	for i := range ports {
		ports[i].Told = accepts != nil && len(accepts.ProxyProtocolSources) > 0
	}
	return ports
}

// portsOf are the ports through which clients come.
func portsOf(vs *model.VirtualService) (ports []shadow.Port) {
	for _, service := range vs.Ports() {
		ports = append(ports, shadow.Port{First: service.Port, Last: max(service.Port, service.PortRangeEnd),
			TLS: service.EnableSSL, HTTP2: service.EnableHTTP2})
	}
	return ports
}

// noteShadows finds rules of HTTP policies without effect in this virtual service.
func (d *draft) noteShadows(sets []*compiledSet) {
	ports := portsOfRequests(d.vs)
	if d.report.blocked || len(ports) == 0 {
		return
	}
	var lists []shadow.Policies
	var known []shadow.Shadowed
	at := map[*shadow.Rule]int{}
	for i, set := range sets {
		lists, known = append(lists, set.rules), append(known, set.found...)
		for _, list := range []shadow.List{set.rules.Security, set.rules.Requests, set.rules.Responses} {
			for _, rule := range list {
				at[rule] = d.vs.PolicyOrder()[i]
			}
		}
	}
	d.shadowedHere(shadow.FindAll(lists, ports), known, func(rule *shadow.Rule) string {
		return fmt.Sprintf("http_policies[%d]", at[rule])
	})
}

// noteShadowsOfNetwork does the same for the policy about connections.
func (d *draft) noteShadowsOfNetwork(policy *compiledSet) {
	if ports := portsOf(d.vs); !d.report.blocked && len(ports) > 0 {
		d.shadowedHere(policy.connections.At(ports).Find(), policy.found, func(*shadow.Rule) string {
			return "network_security_policy_ref"
		})
	}
}

// noteShadowsOfAccess does the same for the rules about tokens.
func (d *draft) noteShadowsOfAccess(access *dataplanev1.AccessRules, groups *shadow.Groups) {
	if policy := d.vs.SSOPolicy; !d.report.blocked {
		d.report.shadowed(about("ssopolicy", policy.Identity, policy.Named),
			shadow.OfAccess(access, policy.Name, groups).Find())
	}
}

// noteShadowsOfChild finds rules by which a child gets no request.
func (d *draft) noteShadowsOfChild() {
	if d.report.blocked {
		return
	}
	groups, ports := groupsIn(d.hostGroups), portsOfRequests(d.vs)
	var list shadow.List
	for i, match := range d.service.GetHostMatches() {
		for j, rule := range match.GetRules() {
			list = append(list, shadow.OfHost(rule, fmt.Sprintf("vh_matches[%d].rules[%d]", i, j), groups))
		}
	}
	if len(ports) > 0 {
		list = list.At(ports)
	}
	d.report.shadowed(d.subject, list.FindEmpty())
}

// l4Rules are the rules that choose pools for connections as they are for one virtual service: those of
// service_pool_select, then those of sets of policies of layer 4.
type l4Rules struct {
	list  shadow.List
	known []shadow.Shadowed // without effect in each virtual service
	field map[*shadow.Rule]string
}

func (l *l4Rules) add(rule *shadow.Rule, field string) {
	l.list, l.field[rule] = append(l.list, rule), field
}

// read adds the rules of a set. It also reports those without effect in each virtual service.
func (l *l4Rules) read(d *draft, set *model.L4PolicySet, groups *shadow.Groups, field string) {
	if d.report.blocked {
		return
	}
	found := rulesOfL4(set, groups, nil).Find()
	d.report.shadowed(about("l4policyset", set.Identity, set.Named), found)
	alone := map[string]bool{}
	for _, one := range found {
		alone[one.Rule.Field] = true
	}
	for _, rule := range rulesOfL4(set, groups, d.speaks) {
		if l.add(rule, field); alone[rule.Field] {
			l.known = append(l.known, shadow.Shadowed{Rule: rule})
		}
	}
}

func (d *draft) noteShadowsOfL4(rules *l4Rules) {
	if ports := portsOf(d.vs); !d.report.blocked && len(ports) > 0 {
		d.shadowedHere(rules.list.At(ports).Find(), rules.known, func(rule *shadow.Rule) string {
			return rules.field[rule]
		})
	}
}

// rulesOfL4 reads the rules of a set. speaks tells whether the virtual service has the protocol of a rule. nil: none is
// known. Then a rule for a protocol takes nothing from later ones.
func rulesOfL4(
	set *model.L4PolicySet, groups *shadow.Groups, speaks func(*kinds.L4RuleProtocolMatch) bool,
) (list shadow.List) {
	var unsaid report
	for _, placed := range set.Rules() {
		rule := shadow.OfPools(&dataplanev1.PoolRule{Match: connectionOfL4(placed.Rule.Match, set, &unsaid)}, set.Name,
			fmt.Sprintf("l4_connection_policy.rules[%d]", placed.At), placed.Rule.Name, groups)
		if match := placed.Rule.Match; match != nil && match.Protocol != nil {
			protocol := match.Protocol.Protocol
			isSpoken := protocol == tcpOfL4 || protocol == udpOfL4
			switch {
			case speaks != nil && !speaks(match.Protocol):
				rule.Exclude("match.protocol: the virtual service has another one")
			case speaks == nil && !isSpoken && !isNegated(match.Protocol.Criteria):
				rule.Exclude("match.protocol: no virtual service has " + protocol)
			case speaks == nil:
				rule.Weaken()
			}
		}
		list = append(list, rule)
	}
	return list
}
