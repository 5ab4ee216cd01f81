package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusesFiltersThatMatchNobodyOrEverybody(t *testing.T) {
	profile := func(more string) string {
		return fmt.Sprintf(`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP","http_profile":{"compression_profile":{
			"compression":true,"type":"CUSTOM_COMPRESSION","remove_accept_encoding_header":true,%s}}}`, more)
	}
	filter := func(more string) string {
		return fmt.Sprintf(`"filter":[{"index":1,"name":"f","level":"NO_COMPRESSION"%s}]`, more)
	}
	for _, c := range []struct{ profile, field, want string }{
		{filter(``), "filter[0]", "compares nothing"},
		{filter(`,"user_agent":["a",""]`), "filter[0].user_agent", "empty"},
		{filter(`,"ip_addrs":[{"type":"DNS","addr":"a.test"}]`), "filter[0].ip_addrs[0].addr", "DNS"},
		{filter(`,"ip_addr_ranges":[{"begin":{"type":"V4","addr":"10.0.0.2"},"end":{"type":"V4","addr":"10.0.0.1"}}]`),
			"filter[0].ip_addr_ranges[0]", "before its beginning"},
		{`"filter":[{"index":1,"name":"f","level":"NO_COMPRESSION","user_agent":["a"]},
			{"index":1,"name":"g","level":"NO_COMPRESSION","user_agent":["b"]}]`, "filter[1].index", "filter[0]"},
		{`"max_low_rtt":50,"min_high_rtt":40`, "min_high_rtt", "at least 50"},
		{`"level_normal":10`, "level_normal", "10"},
	} {
		got := refusalOf(t, "applicationprofile", profile(c.profile))
		want := "applicationprofile: http_profile.compression_profile." + c.field
		if !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s… %s", c.profile, got, want, c.want)
		}
	}
}
