package plan

import (
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/shadow"
)

// RulesWithoutEffect finds the rules of a policy that have no effect in any virtual service, for whoever writes it. get
// returns an object, or false if it is not there. Groups with countries, and places, may have any addresses here: where
// these are, the model knows.
func RulesWithoutEffect(
	kind string, object schema.Object, get func(kind, uuid string) (schema.Object, bool),
) []model.Finding {
	lone := &loneGroups{get: get, texts: map[string]*kinds.StringGroup{}, addresses: map[string]*model.AddressGroup{}}
	var found report
	switch kind {
	case "httppolicyset":
		if set, err := schema.Into[kinds.HTTPPolicySet](object); err == nil {
			found = lone.http(set)
		}
	case "networksecuritypolicy":
		if policy, err := schema.Into[kinds.NetworkSecurityPolicy](object); err == nil {
			found = lone.network(policy)
		}
	case "l4policyset":
		if set, err := schema.Into[kinds.L4PolicySet](object); err == nil {
			found = lone.l4(set)
		}
	case "ssopolicy":
		if policy, err := schema.Into[kinds.SSOPolicy](object); err == nil {
			found = lone.sso(policy)
		}
	}
	return found.findings
}

// loneGroups are the groups that the rules of a policy name, by reference.
type loneGroups struct {
	get       func(kind, uuid string) (schema.Object, bool)
	texts     map[string]*kinds.StringGroup
	addresses map[string]*model.AddressGroup
	read      int // texts and addresses
}

// loneMost bounds what is read of the groups of a policy. Of a policy whose groups have more, nothing is found before a
// virtual service uses it.
const loneMost = 1 << 18

func (l *loneGroups) strings(references []string) {
	for _, reference := range references {
		if l.texts[reference] != nil || l.read > loneMost {
			continue
		}
		if object, known := l.get("stringgroup", model.UUIDIn(reference)); known {
			if group, err := schema.Into[kinds.StringGroup](object); err == nil {
				l.texts[reference] = group
				l.read += len(group.Pairs)
			}
		}
	}
}

func (l *loneGroups) addressesOf(match *kinds.IPAddrMatch) {
	if match == nil {
		return
	}
	for _, reference := range match.GroupRefs {
		if l.addresses[reference] != nil || l.read > loneMost {
			continue
		}
		if object, known := l.get("ipaddrgroup", model.UUIDIn(reference)); known {
			if group, err := schema.Into[kinds.IpAddrGroup](object); err == nil {
				l.addresses[reference] = &model.AddressGroup{IpAddrGroup: *group}
				l.read += len(group.Addrs) + len(group.Prefixes) + len(group.Ranges)
			}
		}
	}
}

func (l *loneGroups) places(matches []kinds.GeoMatch) {
	for i := range matches {
		for _, value := range matches[i].Values {
			place := &model.AddressGroup{IsPlace: true}
			place.UUID = "place " + matches[i].Place(value)
			l.addresses[matches[i].Place(value)] = place
		}
	}
}

func (l *loneGroups) target(match *kinds.MatchTarget) {
	if match == nil {
		return
	}
	l.strings(match.StringGroupRefs())
	l.addressesOf(match.ClientIP)
	l.addressesOf(match.SourceIP)
	l.places(match.GeoMatches)
}

// content has what is known of the groups.
func (l *loneGroups) content() *shadow.Groups {
	groups := &shadow.Groups{}
	for _, group := range l.texts {
		groups.AddStrings(stringGroup(group).GetStringGroup())
	}
	for _, group := range l.addresses {
		if !group.IsPlace && len(group.CountryCodes) == 0 {
			groups.AddAddresses(addressGroupOf(group))
		}
	}
	return groups
}

func (l *loneGroups) http(from *kinds.HTTPPolicySet) (found report) {
	set := &model.HTTPPolicySet{HTTPPolicySet: *from, StringGroups: l.texts, AddressGroups: l.addresses}
	for _, placed := range from.SecurityRules() {
		l.target(placed.Rule.Match)
	}
	for _, placed := range from.RequestRules() {
		l.target(placed.Rule.Match)
		addAnyPool(set, placed.Rule.Switching)
	}
	for _, placed := range from.ResponseRules() {
		if placed.Rule.Match != nil {
			l.target(&placed.Rule.Match.MatchTarget)
		}
	}
	reader := &setReader{set: set}
	if to := reader.lists(); !reader.report.blocked {
		found.shadowed(subject{}, shadow.Of(to, l.content()).Find())
	}
	return found
}

// addAnyPool adds a pool, or a group of pools, for a rule: whatever it has, the rule chooses it.
func addAnyPool(set *model.HTTPPolicySet, switching *kinds.HTTPSwitchingAction) {
	if switching == nil {
		return
	}
	pool, group := &model.Pool{}, &model.PoolGroup{}
	if pool.UUID = model.UUIDIn(switching.PoolRef); switching.Server != nil {
		pool.Members = []model.Member{{ID: switching.Server.ID(0)}}
		if earlier := set.PoolOf(switching.PoolRef); earlier != nil {
			earlier.Members = append(earlier.Members, pool.Members...)
		}
	}
	group.UUID = model.UUIDIn(switching.PoolGroupRef)
	set.Pools, set.Groups = append(set.Pools, pool), append(set.Groups, group)
}

func (l *loneGroups) network(from *kinds.NetworkSecurityPolicy) (found report) {
	for _, placed := range from.RulesInForce() {
		l.addressesOf(placed.Rule.Match.ClientIP)
		l.places(placed.Rule.Match.GeoMatches)
	}
	var unsaid report
	to := networkPolicyOf(&model.NetworkPolicy{NetworkSecurityPolicy: *from, AddressGroups: l.addresses}, &unsaid)
	if !unsaid.blocked {
		found.shadowed(subject{}, shadow.OfConnections(to, l.content()).Find())
	}
	return found
}

func (l *loneGroups) l4(from *kinds.L4PolicySet) (found report) {
	for _, placed := range from.Rules() {
		if placed.Rule.Match != nil {
			l.addressesOf(placed.Rule.Match.ClientIP)
		}
	}
	if l.read > loneMost {
		return found
	}
	set := &model.L4PolicySet{L4PolicySet: *from, AddressGroups: l.addresses}
	found.shadowed(subject{}, rulesOfL4(set, l.content(), nil).Find())
	return found
}

func (l *loneGroups) sso(from *kinds.SSOPolicy) (found report) {
	for _, placed := range from.AuthenticationRules() {
		l.target(placed.Rule.Match.Target())
	}
	for _, placed := range from.AuthorizationRules() {
		l.target(placed.Rule.Match.Target())
		for _, claim := range placed.Rule.Match.Claims() {
			if claim.Text != nil {
				l.strings(claim.Text.GroupRefs)
			}
		}
	}
	var unsaid report
	policy := &model.SSOPolicy{SSOPolicy: *from, StringGroups: l.texts, AddressGroups: l.addresses}
	if to := accessRules(policy, &unsaid); to != nil && !unsaid.blocked {
		found.shadowed(subject{}, shadow.OfAccess(to, from.Name, l.content()).Find())
	}
	return found
}
