package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	always = math.MaxUint64
	never  = 0
)

// noPatterns says why a filter or a rule cannot be applied.
const noPatterns = "engines compare texts, and match no regular expressions"

var usualAnalytics = schema.Defaults[kinds.AnalyticsPolicy]()

// analytics says which requests and connections of a virtual service leave a record.
func analytics(subject subject, vs *model.VirtualService, report *report) *dataplanev1.Analytics {
	policy := vs.AnalyticsPolicy
	if policy == nil {
		policy = usualAnalytics
	}
	to := &dataplanev1.Analytics{
		SignificantPerS: policy.SignificantLogThrottle, FilteredPerS: policy.UDFLogThrottle,
		AllHeaders: policy.AllHeaders,
	}
	if full := policy.FullClientLogs; full != nil && full.Enabled {
		to.AllPerS, to.AllUntilUnixS = full.Throttle, untilOf(vs.LastModified, full.Duration)
	}
	for _, filter := range policy.ActiveFilters() {
		to.Filters = append(to.Filters, recordFilter(subject, vs, filter, roomOfFilters(to), report))
	}
	if vs.Analytics != nil {
		judge(vs.Analytics, to)
		restrictClasses(vs.Analytics.Logs, to)
		hide(vs.Analytics, vs.LogGroups.StringGroups, to, report)
		to.Traces = traces(vs.Analytics.Traces)
	}
	if vs.JWT != nil && vs.JWT.QueryName() != "" {
		to.QueryMasks = slices.Insert(to.QueryMasks, 0, &dataplanev1.Mask{Name: &dataplanev1.TextMatch{
			Criterion: dataplanev1.TextCriterion_TEXT_CRITERION_EQUALS, Values: []string{vs.JWT.QueryName()}}})
	}
	return to
}

// untilOf is the end of a duration in minutes, which begins when an object is written: its _last_modified. A duration
// of 0 has no end.
func untilOf(lastModified string, minutes uint32) uint64 {
	const microsPerSecond, secondsPerMinute = 1_000_000, 60
	written, err := strconv.ParseUint(lastModified, 10, 64)
	switch {
	case minutes == 0:
		return always
	case err != nil: // not from the store
		return never
	}
	return written/microsPerSecond + uint64(minutes)*secondsPerMinute
}

// recordFilter converts a filter. One that cannot be applied holds for no request, but keeps its place: a record tells
// by the place which filters hold.
func recordFilter(
	subject subject, vs *model.VirtualService, from kinds.ClientLogFilter, room int, report *report,
) *dataplanev1.RecordFilter {
	nothing := func(why string) *dataplanev1.RecordFilter {
		report.warn(subject, "analytics_policy.client_log_filters", "filter %s has no effect: %s", from.Name, why)
		return &dataplanev1.RecordFilter{UntilUnixS: never}
	}
	to := &dataplanev1.RecordFilter{UntilUnixS: untilOf(vs.LastModified, from.Duration), AllHeaders: from.AllHeaders}
	if clients := from.ClientIP; clients != nil {
		to.ClientsNegated = clients.Criteria == "IS_NOT_IN"
		subnets, why := subnetsOfFilter(clients, vs.LogGroups.AddressGroups, room)
		if why != "" {
			return nothing(why)
		}
		to.ClientSubnets = subnets
		if len(to.ClientSubnets) == 0 && !to.ClientsNegated {
			return nothing("its client_ip names no address")
		}
	}
	if from.URI != nil {
		uri, why := textsOfFilter(from.URI, vs.LogGroups.StringGroups)
		if why != "" {
			return nothing(why)
		}
		to.Uri = uri
	}
	return to
}

// Each virtual service has a copy of the content of the groups that its filters name.
const (
	filterSubnetsMost = 8192 // of all filters together
	filterTextsMost   = 1024 // of one filter
)

// roomOfFilters is how many subnets further filters may have.
func roomOfFilters(to *dataplanev1.Analytics) int {
	room := filterSubnetsMost
	for _, filter := range to.GetFilters() {
		room -= len(filter.GetClientSubnets())
	}
	return room
}

const noFilterGroup = "a group that it names is not there or cannot be used"

// subnetsOfFilter are the addresses of a filter, with those of its groups; or it says why they cannot be compared. With
// groups, there may be as many as there is room for.
func subnetsOfFilter(
	from *kinds.IPAddrMatch, groups map[string]*model.AddressGroup, room int,
) (all []string, why string) {
	tooMany := fmt.Sprintf("the groups of the filters have more than %d addresses, subnets and ranges together: use "+
		"smaller ones", filterSubnetsMost)
	subnets := from.Subnets()
	for _, reference := range from.GroupRefs {
		group := groups[reference]
		switch {
		case group == nil:
			return nil, noFilterGroup
		case len(group.IPPorts) > 0:
			return nil, group.Name + " has ip_ports, which are servers of pools: use a group without them"
		case len(subnets)+group.Size() > room:
			return nil, tooMany
		}
		own := kinds.IPAddrMatch{Addrs: group.Addrs, Ranges: group.Ranges, Prefixes: group.Prefixes}
		subnets = append(subnets, own.Subnets()...)
		for _, span := range slices.Concat(group.Located...) {
			if subnets = append(subnets, kinds.SubnetsOf(span.First, span.Last)...); len(subnets) > room {
				return nil, tooMany
			}
		}
	}
	if len(subnets) > room && len(from.GroupRefs) > 0 {
		return nil, tooMany
	}
	for _, subnet := range subnets {
		all = append(all, subnet.String())
	}
	return all, ""
}

// textsOfFilter converts a comparison of texts, with the keys of its groups; or it says why engines cannot do it.
func textsOfFilter(
	from *kinds.StringMatch, groups map[string]*kinds.StringGroup,
) (to *dataplanev1.TextMatch, why string) {
	all := *from
	all.Values = slices.Clone(from.Values)
	for _, reference := range from.GroupRefs {
		group := groups[reference]
		if group == nil {
			return nil, noFilterGroup
		}
		for _, pair := range group.Pairs {
			all.Values = append(all.Values, pair.Key)
		}
	}
	if len(all.Values) > filterTextsMost {
		return nil, fmt.Sprintf("its groups have more than %d texts: use smaller ones", filterTextsMost)
	}
	return textMatch(&all)
}

// textMatch converts a comparison of texts; or it says why engines cannot do it.
func textMatch(from *kinds.StringMatch) (to *dataplanev1.TextMatch, why string) {
	known, ok := pathCriteria[from.Criteria]
	switch {
	case !ok:
		return nil, noPatterns
	case len(from.Values) == 0:
		return nil, "it gives no text to compare with"
	}
	return &dataplanev1.TextMatch{Criterion: known.criterion, Negated: known.negated, Values: from.Values}, ""
}

// judge says what is significant.
func judge(from *kinds.AnalyticsProfile, to *dataplanev1.Analytics) {
	to.SlowTotalMs = slower(from.ApdexResponseMs, from.ApdexResponseFactor)
	to.SlowAppMs = slower(from.ApdexServerResponseMs, from.ApdexServerResponseFactor)
	to.SlowClientRttMs = slower(from.ApdexRTTMs, from.ApdexRTTFactor)
	to.SlowServerRttMs = slower(from.ApdexServerRTTMs, from.ApdexServerRTTFactor)
	to.NotErrors = notErrors(from)
	if from.ExcludeClientReset {
		to.CausesNotErrors = append(to.CausesNotErrors, "client_aborted")
	}
	if from.ExcludeServerReset {
		to.CausesNotErrors = append(to.CausesNotErrors, "server_reset")
	}
}

// notErrors are the statuses that a profile excludes from the errors.
func notErrors(from *kinds.AnalyticsProfile) (ranges []*dataplanev1.StatusRange) {
	for _, code := range from.ExcludedStatuses {
		ranges = append(ranges, &dataplanev1.StatusRange{First: code, Last: code})
	}
	for _, span := range from.ExcludedRanges {
		ranges = append(ranges, &dataplanev1.StatusRange{First: span.Begin, Last: span.End})
	}
	blocks := map[string]uint32{"AP_HTTP_RSP_4XX": 400, "AP_HTTP_RSP_5XX": 500}
	for _, block := range from.NotErrors {
		ranges = append(ranges, &dataplanev1.StatusRange{First: blocks[block], Last: blocks[block] + 99})
	}
	return ranges
}

// slower is the time above which nobody is satisfied any more.
func slower(thresholdMs uint32, factor float64) uint32 {
	return uint32(min(float64(thresholdMs)*factor, math.MaxUint32))
}

// traces says whether requests get spans.
func traces(from *kinds.TraceConfig) *dataplanev1.Traces {
	if from == nil || !from.Enabled {
		return nil
	}
	const perPercent = 10_000
	return &dataplanev1.Traces{SampledPerMillion: uint32(math.Round(from.SampledPercent * perPercent))}
}

// restrictClasses leaves out classes that are not kept.
func restrictClasses(from *kinds.ClientLogConfig, to *dataplanev1.Analytics) {
	if from == nil {
		return
	}
	to.SignificantOff = !from.SignificantCollection || from.Significant == kinds.NoLogs
	if from.Filtered == kinds.NoLogs {
		to.Filters = nil
	}
	if from.NonSignificant == kinds.NoLogs {
		to.AllUntilUnixS = never
	}
}

// hide says what records do not show. If a rule cannot be applied, they show none of the fields that it is about.
func hide(
	from *kinds.AnalyticsProfile, groups map[string]*kinds.StringGroup, to *dataplanev1.Analytics, report *report,
) {
	if from.Sensitive == nil {
		return
	}
	profile := about("analyticsprofile", from.Identity, from.Named)
	var all bool
	if to.HeaderMasks, all = masks(profile, "header_field_rules", from.Sensitive.Headers, groups, report); !all {
		to.HeaderMasks, to.AllHeaders = everything(), false
		for _, filter := range to.Filters {
			filter.AllHeaders = false
		}
	}
	if to.QueryMasks, all = masks(profile, "uri_query_field_rules", from.Sensitive.Query, groups, report); !all {
		to.QueryMasks = everything()
	}
}

// everything hides every field.
func everything() []*dataplanev1.Mask {
	return []*dataplanev1.Mask{{Remove: true, Name: &dataplanev1.TextMatch{
		Criterion: dataplanev1.TextCriterion_TEXT_CRITERION_BEGINS_WITH, Values: []string{""}}}}
}

// masks converts rules, in the order of their indexes. all is false if one of them cannot be applied.
func masks(
	subject subject, field string, rules []kinds.SensitiveFieldRule,
	groups map[string]*kinds.StringGroup, report *report,
) (to []*dataplanev1.Mask, all bool) {
	all = true
	places := make([]int, len(rules))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(rules[a].Index, rules[b].Index) })
	for _, i := range places {
		rule := rules[i]
		if !rule.Enabled {
			continue
		}
		why := "it has no match"
		var name *dataplanev1.TextMatch
		if rule.Match != nil {
			name, why = textsOfFilter(rule.Match, groups)
		}
		if why != "" {
			report.warn(subject, fmt.Sprintf("sensitive_log_profile.%s[%d]", field, i),
				"%s: records hide all of these fields", why)
			all = false
			continue
		}
		to = append(to, &dataplanev1.Mask{Name: name, Remove: rule.Action == "LOG_FIELD_REMOVE"})
	}
	return to, all
}
