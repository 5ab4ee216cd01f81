package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestCookieOfServersHasAnyNameThatACookieMayHave(t *testing.T) {
	profile := func(kind, name string) string {
		return fmt.Sprintf(`{"name":"a","persistence_type":%q,"app_cookie_persistence_profile":{"prst_hdr_name":%q}}`,
			kind, name)
	}
	const appCookie, address = "PERSISTENCE_TYPE_APP_COOKIE", "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS"
	for _, c := range []struct {
		kind, name string
		refused    bool
	}{
		{appCookie, "ASP.NET_SessionId", false},
		{appCookie, "connect.sid", false},
		{appCookie, ".AspNetCore.Session", false},
		{appCookie, strings.Repeat("a", 128), false},
		{appCookie, strings.Repeat("a", 129), true},
		{appCookie, "my cookie", true},
		{appCookie, "a=b", true},
		{appCookie, "a;b", true},
		{address, "my cookie", false},
	} {
		got := refusalOf(t, "applicationpersistenceprofile", profile(c.kind, c.name))
		if (got != "") != c.refused || c.refused && !strings.Contains(got,
			"app_cookie_persistence_profile.prst_hdr_name") {
			t.Errorf("%s %q: got %q", c.kind, c.name, got)
		}
	}
}
