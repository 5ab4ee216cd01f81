package plan

import (
	"slices"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// What a rule that engines cannot apply would have hidden is not known, so records hide everything of its kind.
func TestRuleThatCannotBeAppliedHidesEverything(t *testing.T) {
	rule := func(criteria string) kinds.SensitiveFieldRule {
		match := &kinds.StringMatch{Criteria: criteria, Values: []string{"User-Agent"}}
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
	for _, criteria := range []string{"EQUALS", "REGEX_MATCH"} {
		rules := []kinds.SensitiveFieldRule{rule("EQUALS"), rule(criteria)}
		from := &kinds.AnalyticsProfile{Sensitive: &kinds.SensitiveLogProfile{Headers: rules, Query: rules}}
		to := &dataplanev1.Analytics{AllHeaders: true, Filters: []*dataplanev1.RecordFilter{{AllHeaders: true}}}
		var found report
		hide(from, to, &found)
		all := criteria == "REGEX_MATCH"
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
