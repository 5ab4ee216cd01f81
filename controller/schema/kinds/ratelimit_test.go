package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusesLimitsThatSayTooLittleOrTooMuch(t *testing.T) {
	profile := func(limits string) string {
		return fmt.Sprintf(`{"name":"a","type":"APPLICATION_PROFILE_TYPE_HTTP",
			"dos_rl_profile":{"rl_profile":{%s}}}`, limits)
	}
	for _, c := range []struct{ limits, field, want string }{
		{`"client_ip_requests_rate_limit":{"action":{}}`, "client_ip_requests_rate_limit.rate_limiter", "is required"},
		{`"http_header_rate_limits":[{"rate_limiter":{},"action":{}}]`, "http_header_rate_limits[0].http_header",
			"is required"},
		{`"http_header_rate_limits":[{"http_header":"X Key","rate_limiter":{},"action":{}}]`,
			"http_header_rate_limits[0].http_header", "X Key"},
		{`"uri_requests_rate_limit":{"http_cookie":"a;b","rate_limiter":{},"action":{}}`,
			"uri_requests_rate_limit.http_cookie", "a;b"},
		{`"uri_requests_rate_limit":{"rate_limiter":{"count":1000000001},"action":{}}`,
			"uri_requests_rate_limit.rate_limiter.count", "1000000001"},
		{`"client_ip_to_uri_requests_rate_limit":{"rate_limiter":{"count":1,"period":1000,"burst_sz":1000000000},
			"action":{}}`, "client_ip_to_uri_requests_rate_limit.rate_limiter.burst_sz", "lower it"},
		{`"client_ip_connections_rate_limit":{"rate_limiter":{},"action":{"type":"RL_ACTION_LOCAL_RSP"}}`,
			"client_ip_connections_rate_limit.action.type", "use RL_ACTION_NONE"},
		{`"client_ip_connections_rate_limit":{"http_header":"A","rate_limiter":{},"action":{}}`,
			"client_ip_connections_rate_limit.http_header", "have no header fields"},
	} {
		got := refusalOf(t, "applicationprofile", profile(c.limits))
		want := "applicationprofile: dos_rl_profile.rl_profile." + c.field + ": "
		if !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s… %s", c.limits, got, want, c.want)
		}
	}
}

func TestRefusesRedirectsOfServersThatNeedARequest(t *testing.T) {
	for _, c := range []struct{ redirect, field, want string }{
		{`{"protocol":"HTTPS"}`, "host", "is required"},
		{`{"protocol":"HTTPS","host":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[{"type":"URI_TOKEN_TYPE_HOST"}]}}`,
			"host.tokens[0].type", "URI_TOKEN_TYPE_HOST is of a request"},
		{`{"protocol":"HTTPS","host":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[{"type":"URI_TOKEN_TYPE_STRING",
			"str_value":"busy.test"}]},"path":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[{
			"type":"URI_TOKEN_TYPE_PATH"}]}}`, "path.tokens[0].type", "use URI_TOKEN_TYPE_STRING"},
	} {
		got := refusalOf(t, "pool", fmt.Sprintf(`{"name":"a","max_conn_rate_per_server":{"rate_limiter":{},
			"action":{"type":"RL_ACTION_REDIRECT","redirect":%s}}}`, c.redirect))
		want := "pool: max_conn_rate_per_server.action.redirect." + c.field + ": "
		if !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s… %s", c.redirect, got, want, c.want)
		}
	}
}
