package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// match converts what a request is compared with. Of security rules, a path may lack its first "/".
func (r *ruleReader) match(from *kinds.MatchTarget, isSecurity bool) *dataplanev1.HttpMatch {
	if from == nil {
		return nil
	}
	to := &dataplanev1.HttpMatch{
		Client:       r.addresses(from.ClientIP),
		Source:       r.addresses(from.SourceIP),
		ListenerPort: ports(from.VSPort),
		Scheme:       scheme(from.Protocol),
		Method:       methods(from.Method),
		Version:      versions(from.Version),
		Fields:       fields(from.Hdrs),
	}
	if path := from.Path; path != nil {
		to.Path = r.grouped("match.path", texts(path.Criteria, path.Case, path.Values), path.GroupRefs)
		to.Path.Decoded = path.Decoded
		if isSecurity && kinds.ComparesBeginning(path.Criteria) {
			to.Path.Values = rooted(to.GetPath().GetValues())
			r.refuseRootless("match.path", path.GroupRefs)
		}
	}
	if query := from.Query; query != nil {
		to.Query = r.grouped("match.query", texts(query.Criteria, query.Case, query.Values), query.GroupRefs)
		to.Query.Decoded = query.Decoded
	}
	if host := from.HostHdr; host != nil {
		to.Host = texts(host.Criteria, host.Case, host.Values)
	}
	if problem := kinds.CheckPlaces("match.geo_matches", from.GeoMatches); problem != nil {
		r.refuse(problem.Field, "%s", problem.Problem)
	} else {
		to.Client, to.Place = withPlace(to.Client, placeMatch(from.GeoMatches, r.set.AddressGroups, &r.report))
	}
	if cookie := from.Cookie; cookie != nil {
		value := texts(cookie.Criteria, cookie.Case, cookie.Texts())
		to.Cookie = &dataplanev1.FieldMatch{Name: cookie.Name, Value: value}
	}
	return to
}

// matchResponse adds what the response is compared with.
func (r *ruleReader) matchResponse(from *kinds.ResponseMatchTarget, to *dataplanev1.HttpMatch) {
	to.Status = statusMatch(from.Status)
	if location := from.Location; location != nil {
		to.Location = texts(location.Criteria, location.Case, location.Values)
	}
	to.ResponseFields = fields(from.ResponseHdrs)
}

func isNegated(operation string) bool { return operation == "IS_NOT_IN" }

func (r *ruleReader) addresses(from *kinds.IPAddrMatch) *dataplanev1.AddressMatch {
	return addressMatch(from, r.set.AddressGroups, &r.report)
}

// addressMatch converts a comparison of addresses; groups are by reference.
func addressMatch(
	from *kinds.IPAddrMatch, groups map[string]*model.AddressGroup, report *report,
) *dataplanev1.AddressMatch {
	if from == nil {
		return nil
	}
	to := &dataplanev1.AddressMatch{Negated: isNegated(from.Criteria)}
	to.Subnets, to.Ranges = addressSet(from.Addrs, from.Prefixes, from.Ranges)
	for _, reference := range from.GroupRefs {
		if group := groups[reference]; group != nil && !group.IsPartial {
			to.AddressGroupUuids = append(to.AddressGroupUuids, group.UUID)
		} else {
			report.blocked = true // model has a finding about that
		}
	}
	return to
}

// placeMatch converts a comparison of where the client is: the addresses of each place are a group.
func placeMatch(
	from []kinds.GeoMatch, groups map[string]*model.AddressGroup, report *report,
) *dataplanev1.AddressMatch {
	if len(from) == 0 {
		return nil
	}
	match := &from[0] // there is at most one
	to := &dataplanev1.AddressMatch{Negated: isNegated(match.Operation)}
	for _, value := range match.Values {
		if match.Attribute == kinds.PlacePrefix {
			prefix, err := match.Prefix(value)
			report.blocked = report.blocked || err != nil // a write refuses it
			to.Subnets = append(to.Subnets, prefix.String())
		} else if group := groups[match.Place(value)]; group == nil {
			report.blocked = true // model has a finding about that
		} else if !slices.Contains(to.GetAddressGroupUuids(), group.UUID) {
			to.AddressGroupUuids = append(to.AddressGroupUuids, group.UUID)
		}
	}
	return to
}

// withPlace has a place compared as the address of the client, if nothing else is: engines from before places know
// that, and would skip the place.
func withPlace(client, place *dataplanev1.AddressMatch) (_, _ *dataplanev1.AddressMatch) {
	if client == nil {
		return place, nil
	}
	return client, place
}

// addressesOf returns the addresses of a group, with those of its countries.
func addressesOf(group *model.AddressGroup) (subnets []string, ranges []*dataplanev1.AddressRange) {
	subnets, ranges = addressSet(group.Addrs, group.Prefixes, group.Ranges)
	for _, country := range group.Located {
		for _, span := range country {
			ranges = append(ranges,
				&dataplanev1.AddressRange{First: span.First.String(), Last: span.Last.String()})
		}
	}
	return subnets, ranges
}

func addressSet(
	addresses []kinds.IPAddr, prefixes []kinds.IPAddrPrefix, spans []kinds.IPAddrRange,
) (subnets []string, ranges []*dataplanev1.AddressRange) {
	for i := range addresses {
		address := addresses[i].Address()
		subnets = append(subnets, fmt.Sprintf("%s/%d", address, address.BitLen()))
	}
	for i := range prefixes {
		subnets = append(subnets, prefixes[i].Prefix().String())
	}
	for _, span := range spans {
		ranges = append(ranges, &dataplanev1.AddressRange{
			First: span.Begin.Address().String(), Last: span.End.Address().String()})
	}
	return subnets, ranges
}

func ports(from *kinds.PortMatch) *dataplanev1.NumberMatch {
	if from == nil {
		return nil
	}
	return portMatch(from.Criteria, from.Ports, nil)
}

func scheme(from *kinds.ProtocolMatch) *dataplanev1.SchemeMatch {
	if from == nil {
		return nil
	}
	return &dataplanev1.SchemeMatch{Tls: (from.Protocol == "HTTPS") != isNegated(from.Criteria)}
}

func methods(from *kinds.MethodMatch) *dataplanev1.NameMatch {
	if from == nil {
		return nil
	}
	to := &dataplanev1.NameMatch{Negated: isNegated(from.Criteria)}
	for _, method := range from.Methods {
		to.Names = append(to.Names, strings.TrimPrefix(method, "HTTP_METHOD_"))
	}
	return to
}

var versionNames = map[string]string{
	"ZERO_NINE": "HTTP/0.9", "ONE_ZERO": "HTTP/1.0", "ONE_ONE": "HTTP/1.1", "TWO_ZERO": "HTTP/2",
}

func versions(from *kinds.HTTPVersionMatch) *dataplanev1.NameMatch {
	if from == nil {
		return nil
	}
	to := &dataplanev1.NameMatch{Negated: isNegated(from.Criteria)}
	for _, version := range from.Versions {
		to.Names = append(to.Names, versionNames[version])
	}
	return to
}

func fields(from []kinds.HdrMatch) (to []*dataplanev1.FieldMatch) {
	for _, match := range from {
		value := texts(match.Criteria, match.Case, match.Values)
		to = append(to, &dataplanev1.FieldMatch{Name: match.Hdr, Value: value})
	}
	return to
}

// textCriteria are those of rules.
var textCriteria = withMore(pathCriteria, map[string]textCriterion{
	"EXISTS":               {dataplanev1.TextCriterion_TEXT_CRITERION_EXISTS, false},
	"DOES_NOT_EXIST":       {dataplanev1.TextCriterion_TEXT_CRITERION_EXISTS, true},
	"REGEX_MATCH":          {dataplanev1.TextCriterion_TEXT_CRITERION_REGEX, false},
	"REGEX_DOES_NOT_MATCH": {dataplanev1.TextCriterion_TEXT_CRITERION_REGEX, true},
})

func withMore(some, more map[string]textCriterion) map[string]textCriterion {
	all := maps.Clone(some)
	maps.Copy(all, more)
	return all
}

// texts converts a comparison with texts. All kinds of comparison have the same criteria, with prefixes of their own.
func texts(criteria, letterCase string, values []string) *dataplanev1.TextMatch {
	how := textCriteria[kinds.Comparison(criteria)]
	return &dataplanev1.TextMatch{
		Criterion: how.criterion, Negated: how.negated, Values: values, CaseSensitive: letterCase == "SENSITIVE",
	}
}

// grouped adds the groups whose keys are values too.
func (r *ruleReader) grouped(field string, to *dataplanev1.TextMatch, references []string) *dataplanev1.TextMatch {
	for i, reference := range references {
		group := r.set.StringGroups[reference]
		if group == nil {
			r.report.blocked = true // model has a finding about that
			continue
		}
		to.StringGroupUuids = append(to.StringGroupUuids, group.UUID)
		if to.GetCriterion() != dataplanev1.TextCriterion_TEXT_CRITERION_REGEX {
			continue
		}
		if fault := r.faultIn(group); fault != "" {
			r.refuse(fmt.Sprintf("%s.string_group_refs[%d]", field, i), "string group %s: %s", group.Name, fault)
		}
	}
	return to
}

// faultIn says why the texts of a group are no expressions; empty: they are. Many rules may name the group.
func (r *setReader) faultIn(group *kinds.StringGroup) string {
	fault, known := r.faults[group]
	if known {
		return fault
	}
	fault = group.FaultOfExpressions()
	if r.faults == nil {
		r.faults = map[*kinds.StringGroup]string{}
	}
	r.faults[group] = fault
	return fault
}

// rooted gives texts that begin a path, or are one, the "/" that every path begins with.
func rooted(texts []string) []string {
	values := make([]string, len(texts))
	for i, text := range texts {
		values[i] = "/" + strings.TrimPrefix(text, "/")
	}
	return values
}

// refuseRootless refuses keys that no path begins with. Engines have a group once for all rules: its keys cannot get
// their first "/" for one of them.
func (r *ruleReader) refuseRootless(field string, references []string) {
	for i, reference := range references {
		group := r.set.StringGroups[reference]
		if group == nil {
			continue // grouped says so
		}
		for at, pair := range group.Pairs {
			if !strings.HasPrefix(pair.Key, "/") {
				r.refuse(fmt.Sprintf("%s.string_group_refs[%d]", field, i),
					"string group %s: kv[%d].key: no path begins with %s: begin it with /", group.Name, at,
					schema.Show(pair.Key))
				break
			}
		}
	}
}
