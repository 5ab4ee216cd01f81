package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusesThresholdsThatContradictThemselves(t *testing.T) {
	for _, c := range []struct{ thresholds, field, want string }{
		{`{"attack":"POLICY_DROPS","min_value":9,"max_value":8}`, "thresh_info[0].max_value", "less than min_value"},
		{`{"attack":"POLICY_DROPS","min_value":1,"max_value":8},{"attack":"POLICY_DROPS","min_value":2,"max_value":8}`,
			"thresh_info[1].attack", "thresh_info[0]"},
		{`{"attack":"POLICY_DROPS","min_value":0,"max_value":8}`, "thresh_info[0].min_value", "1"},
		{`{"attack":"POLICY","min_value":1,"max_value":8}`, "thresh_info[0].attack", "POLICY"},
		{`{"attack":"POLICY_DROPS","min_value":1}`, "thresh_info[0].max_value", "required"},
	} {
		got := refusalOf(t, "applicationprofile", fmt.Sprintf(`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP",
			"dos_rl_profile":{"dos_profile":{"thresh_period":5,"thresh_info":[%s]}}}`, c.thresholds))
		want := "applicationprofile: dos_rl_profile.dos_profile." + c.field + ": "
		if !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s… %s", c.thresholds, got, want, c.want)
		}
	}
}
