package plan

import (
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// What a rule that engines cannot apply would have hidden is not known, so records hide everything of its kind.
func TestRuleThatCannotBeAppliedHidesEverything(t *testing.T) {
	rule := func(criteria string, groups ...string) kinds.SensitiveFieldRule {
		match := &kinds.StringMatch{Criteria: criteria, Values: []string{"User-Agent"}, GroupRefs: groups}
		return kinds.SensitiveFieldRule{Enabled: true, Match: match, Action: "LOG_FIELD_MASKOFF"}
	}
	hidesAll := func(masks []*dataplanev1.Mask) bool {
		if len(masks) != 1 {
			return false
		}
		name := masks[0].Name
		return masks[0].Remove && !name.Negated && slices.Equal(name.Values, []string{""}) &&
			name.Criterion == dataplanev1.TextCriterion_TEXT_CRITERION_BEGINS_WITH
	}
	for criteria, last := range map[string]kinds.SensitiveFieldRule{
		"EQUALS": rule("EQUALS"), "REGEX_MATCH": rule("REGEX_MATCH"), "a missing group": rule("EQUALS", "gone"),
	} {
		rules := []kinds.SensitiveFieldRule{rule("EQUALS"), last}
		from := &kinds.AnalyticsProfile{Sensitive: &kinds.SensitiveLogProfile{Headers: rules, Query: rules}}
		to := &dataplanev1.Analytics{AllHeaders: true, Filters: []*dataplanev1.RecordFilter{{AllHeaders: true}}}
		var found report
		hide(from, nil, to, &found)
		all := criteria != "EQUALS"
		if hidesAll(to.HeaderMasks) != all || hidesAll(to.QueryMasks) != all {
			t.Errorf("%s: headers %v, query %v", criteria, to.HeaderMasks, to.QueryMasks)
		}
		if to.AllHeaders == all || to.Filters[0].AllHeaders == all || (len(found.findings) == 2) != all {
			t.Errorf("%s: %v, findings %v", criteria, to, found.findings)
		}
	}
}

func TestTracesAreThoseOfTheProfile(t *testing.T) {
	for _, off := range []*kinds.TraceConfig{nil, {SampledPercent: 5}} {
		if to := traces(off); to != nil {
			t.Errorf("%+v: %v", off, to)
		}
	}
	for percent, want := range map[float64]uint32{0: 0, 0.0001: 1, 1: 10_000, 100: 1_000_000} {
		to := traces(&kinds.TraceConfig{Enabled: true, SampledPercent: percent})
		if to == nil || to.GetSampledPerMillion() != want {
			t.Errorf("%v %%: %v", percent, to)
		}
	}
}

func TestFiltersTakeGroupsUpToALimit(t *testing.T) {
	group := func(count int) map[string]*model.AddressGroup {
		return map[string]*model.AddressGroup{"a": {Located: [][]model.AddressRange{rangesOf(count)}}}
	}
	texts := func(count int) map[string]*kinds.StringGroup {
		return map[string]*kinds.StringGroup{"a": {Pairs: make([]kinds.KeyValue, count)}}
	}
	for _, c := range []struct {
		count            int
		subnets, strings string
	}{
		{1024, "", ""},
		{1025, "", "its groups have more than 1024 texts: use smaller ones"},
		{8192, "", "its groups have more than 1024 texts: use smaller ones"},
		{8193, "the groups of the filters have more than 8192 addresses, subnets and ranges together: use smaller ones",
			"its groups have more than 1024 texts: use smaller ones"},
	} {
		clients := &kinds.IPAddrMatch{GroupRefs: []string{"a"}}
		if all, why := subnetsOfFilter(clients, group(c.count), filterSubnetsMost); why != c.subnets || why == "" &&
			len(all) != c.count {
			t.Errorf("%d addresses: %d, %q", c.count, len(all), why)
		}
		uri := &kinds.StringMatch{Criteria: "EQUALS", GroupRefs: []string{"a"}}
		if all, why := textsOfFilter(uri, texts(c.count)); why != c.strings ||
			why == "" && len(all.GetValues()) != c.count {
			t.Errorf("%d texts: %q", c.count, why)
		}
	}
	if _, why := subnetsOfFilter(&kinds.IPAddrMatch{GroupRefs: []string{"b"}}, group(1), 1); why != noFilterGroup {
		t.Errorf("without the group: %q", why)
	}
}

func TestGroupsOfAllFiltersTogetherHaveALimit(t *testing.T) {
	of := func(name string) kinds.ClientLogFilter {
		return kinds.ClientLogFilter{Name: name, ClientIP: &kinds.IPAddrMatch{GroupRefs: []string{"a"}}}
	}
	vs := &model.VirtualService{LogGroups: model.Content{AddressGroups: map[string]*model.AddressGroup{
		"a": {Located: [][]model.AddressRange{rangesOf(4000)}}}}}
	to, report := &dataplanev1.Analytics{}, &report{}
	for _, name := range []string{"one", "two", "three"} {
		to.Filters = append(to.Filters, recordFilter(subject{}, vs, of(name), roomOfFilters(to), report))
	}
	if len(to.Filters[1].GetClientSubnets()) != 4000 || len(to.Filters[2].GetClientSubnets()) != 0 ||
		len(report.findings) != 1 || !strings.Contains(report.findings[0].Message, "filter three has no effect") {
		t.Errorf("got %d subnets and %v", len(to.Filters[1].GetClientSubnets()), report.findings)
	}
}
