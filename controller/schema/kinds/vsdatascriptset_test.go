package kinds

import (
	"strings"
	"testing"
)

func TestRefusesScriptsThatEnginesCannotRun(t *testing.T) {
	set := func(event, script string) string {
		return `{"name":"s","datascript":[{"evt":"VS_DATASCRIPT_EVT_` + event + `","script":"` + script + `"}]}`
	}
	for _, c := range []struct{ body, want string }{
		{set("HTTP_REQ", `local a = avi.http.get_path() a = a .. 'x'`), ""},
		{set("HTTP_RESP_FAILED", `avi.http.response(200)`), ""},
		{set("HTTP_LB_FAILED", `avi.http.redirect('/')`), ""},
		{set("HTTP_LB_DONE", `avi.http.add_header('A', avi.pool.name())`), ""},
		{set("HTTP_REQ_DATA", `avi.vs.log(avi.http.get_req_body())`), ""},
		{set("HTTP_RESP_DATA", `avi.vs.log(avi.http.get_response_body())`), ""},
		{set("HTTP_AUTH", `avi.http.redirect('/login')`), ""},
		{set("HTTP_POST_AUTH", `avi.vs.log(avi.http.get_path())`), ""},
		{set("L4_REQUEST", `local tls = require 'Default-TLS' avi.l4.collect(20)`), ""},
		{set("CLIENT_SSL_CLIENT_HELLO", `avi.vs.log(avi.ssl.server_name())`), ""},
		{set("L4_RESPONSE", `avi.l4.discard(avi.l4.collect(4))`), ""},
		{set("DNS_REQ", `x()`),
			"engines run no scripts in VS_DATASCRIPT_EVT_DNS_REQ: virtual services with APPLICATION_PROFILE_TYPE_DNS pass messages on, and do not read them"},
		{set("MAX", `x()`), "engines run no scripts in VS_DATASCRIPT_EVT_MAX: use one of VS_DATASCRIPT_EVT_TCP"},
		{set("HTTP_REQ", `if a then\n  b( end`), "of HTTP_REQ is no script in Lua 5.1: line 2"},
		{set("HTTP_REQ", `if a then`), "it ends too early"},
		{set("HTTP_REQ", strings.Repeat("-", 70000)), "has 70000 bytes"},
		{`{"name":"s","rate_limiters":[{"name":"a","count":5,"period":10},{"name":"b"}]}`, ""},
		{`{"name":"s","rate_limiters":[{"count":5}]}`, "rate_limiters[0].name: is required: scripts name the limit"},
		{`{"name":"s","rate_limiters":[{"name":"a"},{"name":"a"}]}`, "rate_limiters[1].name: "},
		{`{"name":"s","rate_limiters":[{"name":"a","count":1,"period":1000000000,"burst_sz":5}]}`,
			"rate_limiters[0].burst_sz: "},
	} {
		if got := refusalOf(t, "vsdatascriptset", c.body); !strings.Contains(got, c.want) ||
			(c.want == "") != (got == "") {
			t.Errorf("%.80s: got %q, want %q", c.body, got, c.want)
		}
	}
}
