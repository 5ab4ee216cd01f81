package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// refusalOf is what the controller says of an object; empty: it takes the object.
func refusalOf(t *testing.T, kind, body string) string {
	t.Helper()
	k := kindOf(t, kind)
	o, err := k.Decode([]byte(body))
	if err == nil {
		k.Fill(o)
		err = k.Check(o)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func requestRule(rest string) string {
	return `{"name":"s","http_request_policy":{"rules":[{"name":"r","index":1` + rest + `}]}}`
}

func securityRule(rest string) string {
	return `{"name":"s","http_security_policy":{"rules":[{"name":"r","index":1` + rest + `}]}}`
}

func responseRule(rest string) string {
	return `{"name":"s","http_response_policy":{"rules":[{"name":"r","index":1` + rest + `}]}}`
}

func TestRefusesRulesThatCannotMeanWhatTheySay(t *testing.T) {
	path := func(criteria, text string) string {
		return `,"match":{"path":{"match_criteria":"` + criteria + `","match_str":["` + text + `"]}}`
	}
	edit := func(rest string) string { return `,"hdr_action":[{"action":` + rest + `}]` }
	header := func(action, name, value string) string {
		return edit(`"` + action + `","hdr":{"name":"` + name + `"` + value + `}`)
	}
	rewrite := func(token string) string {
		return `,"rewrite_url_action":{"path":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[` + token + `]}}`
	}
	location := func(token string) string {
		return `,"match":{"path":{"match_criteria":"REGEX_MATCH","match_str":["a"],"string_group_refs":["stringgroup-1"]},
			"query":{"match_criteria":"QUERY_MATCH_REGEX_MATCH","match_str":["a"]}},
			"loc_hdr_action":{"protocol":"HTTPS","path":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[{"type":"` +
			token + `"}]}}`
	}
	const redirect = `,"redirect_action":{"protocol":"HTTPS"}`
	const (
		request  = "http_request_policy.rules[0]."
		security = "http_security_policy.rules[0]."
		response = "http_response_policy.rules[0]."
	)
	for _, c := range []struct{ body, field, want string }{
		{requestRule(path("REGEX_MATCH", "^/a(?=b)")), request + "match.path.match_str[0]", "looks around"},
		{requestRule(path("REGEX_DOES_NOT_MATCH", `(a)\\1`)), request + "match.path.match_str[0]", "refers back"},
		{requestRule(path("REGEX_MATCH", "(a")), request + "match.path.match_str[0]",
			"is no regular expression: missing"},
		{requestRule(path("BEGINS_WITH", "api")), request + "match.path.match_str[0]", "no path begins with"},
		{responseRule(path("DOES_NOT_EQUAL", "api")), response + "match.path.match_str[0]", "no path begins with"},
		{requestRule(`,"match":{"version":{"match_criteria":"IS_IN","versions":["ONE_ONE","ZERO_NINE"]}}`),
			request + "match.version.versions[1]", "do not speak HTTP/0.9"},
		{requestRule(path("EQUALS", "")), request + "match.path.match_str[0]", "is empty"},
		{requestRule(`,"match":{"path":{"match_criteria":"EQUALS"}}`), request + "match.path.match_str", "is empty"},
		{requestRule(`,"match":{"query":{"match_criteria":"QUERY_MATCH_EXISTS","match_str":["a"]}}`),
			request + "match.query.match_criteria", "compares with no text"},
		{requestRule(`,"match":{"hdrs":[{"hdr":"a b","match_criteria":"HDR_EXISTS"}]}`), request + "match.hdrs[0].hdr",
			"is no name"},
		{requestRule(`,"match":{"method":{"match_criteria":"IS_IN","methods":[]}}`), request + "match.method.methods",
			"is empty"},
		{requestRule(`,"match":{"client_ip":{"match_criteria":"IS_IN"}}`), request + "match.client_ip",
			"names no address"},
		{requestRule(`,"match":{"client_ip":{"match_criteria":"IS_IN","ranges":[{"begin":{"addr":"10.0.0.2"},
			"end":{"addr":"10.0.0.1"}}]}}`), request + "match.client_ip.ranges[0]", "before its beginning"},
		{requestRule(`,"match":{"source_ip":{"match_criteria":"IS_IN","ranges":[{"begin":{"addr":"10.0.0.2"},
			"end":{"addr":"2001:db8::1"}}]}}`), request + "match.source_ip.ranges[0]", "of another family"},
		{requestRule(header("HTTP_ADD_HDR", "Host", `,"value":{"val":"a"}`)), request + "hdr_action[0].hdr.name",
			"use rewrite_url_action.host_hdr"},
		{requestRule(header("HTTP_REMOVE_HDR", "Content-Length", "")), request + "hdr_action[0].hdr.name",
			"cannot be changed"},
		{requestRule(header("HTTP_REPLACE_HDR", "transfer-encoding", `,"value":{"val":"a"}`)),
			request + "hdr_action[0].hdr.name", "cannot be changed"},
		{responseRule(header("HTTP_REMOVE_HDR", "Keep-Alive", "")), response + "hdr_action[0].hdr.name",
			"about one connection"},
		{requestRule(header("HTTP_ADD_HDR", "X-A", `,"value":{"val":"a\r\nX-B: b"}`)),
			request + "hdr_action[0].hdr.value.val", "cannot carry"},
		{requestRule(header("HTTP_ADD_HDR", "X-A", "")), request + "hdr_action[0].hdr.value", "is required"},
		{requestRule(header("HTTP_ADD_HDR", "X-A", `,"value":{"val":"a","var":"HTTP_POLICY_VAR_VS_IP"}`)),
			request + "hdr_action[0].hdr.value.val", "no effect beside var"},
		{requestRule(edit(`"HTTP_ADD_HDR"`)), request + "hdr_action[0]", "either hdr or cookie"},
		{requestRule(edit(`"HTTP_ADD_HDR","cookie":{"name":"a","value":"b; c"}`)),
			request + "hdr_action[0].cookie.value", "a cookie cannot carry"},
		{requestRule(redirect + header("HTTP_REMOVE_HDR", "X-A", "")), request + "redirect_action", "stands alone"},
		{requestRule(`,"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL"}`),
			request + "switching_action.pool_ref", "is required"},
		{requestRule(`,"switching_action":{"action":"HTTP_SWITCHING_SELECT_LOCAL"}`),
			request + "switching_action.status_code", "is required"},
		{requestRule(`,"switching_action":{"action":"HTTP_SWITCHING_SELECT_LOCAL","other_status_code":204,
			"file":{"content_type":"text/plain","file_content":"a"}}`), request +
			"switching_action.file", "has no body"},
		{requestRule(rewrite(`{"type":"URI_TOKEN_TYPE_STRING","str_value":"a?b"}`)),
			request + "rewrite_url_action.path.tokens[0].str_value", "cannot be here"},
		{requestRule(rewrite(`{"type":"URI_TOKEN_TYPE_PATH","start_index":2,"end_index":1}`)),
			request + "rewrite_url_action.path.tokens[0].end_index", "1 is before start_index 2"},
		{requestRule(path("EQUALS", "/a") + rewrite(`{"type":"URI_TOKEN_TYPE_REGEX","start_index":1}`)),
			request + "rewrite_url_action.path.tokens[0].type", "needs a match.path of the rule by REGEX_MATCH"},
		{requestRule(path("REGEX_MATCH", "^/(a)") + rewrite(`{"type":"URI_TOKEN_TYPE_REGEX","start_index":2}`)),
			request + "rewrite_url_action.path.tokens[0].end_index", "has 1 groups"},
		{requestRule(path("EQUALS", "/a") + rewrite(`{"type":"URI_TOKEN_TYPE_STRING_GROUP"}`)),
			request + "rewrite_url_action.path.tokens[0].type", "string_group_refs"},
		{requestRule(`,"rewrite_url_action":{}`), request + "rewrite_url_action", "changes nothing"},
		{securityRule(""), security + "action", "is required"},
		{securityRule(`,"action":{"action":"HTTP_SECURITY_ACTION_SEND_RESPONSE"}`), security + "action.status_code",
			"is required"},
		{securityRule(`,"action":{"action":"HTTP_SECURITY_ACTION_ALLOW","https_port":443}`),
			security + "action.https_port", "is for HTTP_SECURITY_ACTION_REDIRECT_TO_HTTPS"},
		{securityRule(`,"action":{"action":"HTTP_SECURITY_ACTION_RATE_LIMIT"}`), security + "action.rate_profile",
			"is required"},
		{securityRule(limited(`{}`, `{"type":"RL_ACTION_REDIRECT"}`)),
			security + "action.rate_profile.action.redirect", "is required by RL_ACTION_REDIRECT"},
		{securityRule(limited(`{}`, `{"file":{"content_type":"text/plain","file_content":"a"}}`)),
			security + "action.rate_profile.action.file", "is for RL_ACTION_LOCAL_RSP"},
		{securityRule(limited(`{}`, `{"type":"RL_ACTION_LOCAL_RSP",
			"redirect":{"protocol":"HTTPS"}}`)), security + "action.rate_profile.action.redirect",
			"is for RL_ACTION_REDIRECT"},
		{securityRule(limited(`{"count":1,"period":100,"burst_sz":100000000}`, `{}`)),
			security + "action.rate_profile.rate_limiter.burst_sz", "would take 10000000000 seconds"},
		{responseRule(`,"match":{"status":{"match_criteria":"IS_IN","ranges":[{"begin":500,"end":404}]}}`),
			response + "match.status.ranges[0].end", "404 is before begin 500"},
		{responseRule(`,"match":{"status":{"match_criteria":"IS_IN","ranges":[{"begin":101,"end":404}]}}`),
			response + "match.status.ranges[0].begin", "give 200 to 599"},
		{responseRule(location("URI_TOKEN_TYPE_REGEX")), response + "loc_hdr_action.path.tokens[0].type",
			"cannot be here"},
		{responseRule(location("URI_TOKEN_TYPE_REGEX_QUERY")), response + "loc_hdr_action.path.tokens[0].type",
			"cannot be here"},
		{responseRule(location("URI_TOKEN_TYPE_STRING_GROUP")), response + "loc_hdr_action.path.tokens[0].type",
			"cannot be here"},
		{responseRule(`},{"name":"r","index":1`), "http_response_policy.rules[1].index", "is the index of rules[0]"},
	} {
		want := "httppolicyset: " + c.field + ": rule r: "
		if got := refusalOf(t, "httppolicyset", c.body); !strings.HasPrefix(got, want) ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s… %s", c.body, got, want, c.want)
		}
	}
}

// limited is the action of a rule with a rate limit.
func limited(limiter, action string) string {
	return fmt.Sprintf(`,"action":{"action":"HTTP_SECURITY_ACTION_RATE_LIMIT",
		"rate_profile":{"rate_limiter":%s,"action":%s}}`, limiter, action)
}

func TestTakesRulesOfEveryKind(t *testing.T) {
	for _, body := range []string{
		requestRule(
			`,"match":{"path":{"match_criteria":"REGEX_MATCH","match_str":["^/(a|b)/([0-9]{1,3})[[:alpha:]\\]x]*$"]},
			"hdrs":[{"hdr":"X-A","match_criteria":"HDR_DOES_NOT_EXIST"}]},
			"rewrite_url_action":{"path":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[
			{"type":"URI_TOKEN_TYPE_REGEX","start_index":1,"end_index":65535}]},"query":{"add_string":"a=b"}},
			"hdr_action":[{"action":"HTTP_REMOVE_HDR","hdr":{"name":"X-A"}},
			{"action":"HTTP_ADD_HDR","hdr":{"name":"X-B","value":{"var":"HTTP_POLICY_VAR_HTTP_HDR","val":"X-C"}}},
			{"action":"HTTP_REPLACE_HDR","cookie":{"name":"a","value":"b"}}],
			"switching_action":{"action":"HTTP_SWITCHING_SELECT_POOL","pool_ref":"pool-1",
			"server":{"ip":{"addr":"10.0.0.1"},"port":81}}`),
		securityRule(`,"action":{"action":"HTTP_SECURITY_ACTION_SEND_RESPONSE",
			"status_code":"HTTP_LOCAL_RESPONSE_STATUS_CODE_403","file":{"content_type":"text/html","file_content":"no"}}`),
		responseRule(`,"hdr_action":[{"action":"HTTP_ADD_HDR","cookie":{"name":"a","value":"b; Path=/; Secure"}}],
			"loc_hdr_action":{"protocol":"HTTPS","host":{"type":"URI_PARAM_TYPE_TOKENIZED",
			"tokens":[{"type":"URI_TOKEN_TYPE_HOST","end_index":65535}]}}`),
	} {
		if said := refusalOf(t, "httppolicyset", body); said != "" {
			t.Errorf("%s: %s", body, said)
		}
	}
}

func TestRefusesExpressionsThatEnginesReadOtherwise(t *testing.T) {
	nested := func(deep int) string { return strings.Repeat("(", deep) + "a" + strings.Repeat(")", deep) }
	for text, want := range map[string]string{
		`[a&&b]`: "between [ and ]", `[a[b]`: "a [ between", `\Qa\E`: "do not know", `\<a`: "do not know",
		`a{`: "a { without a count", `\pL`: "do not know", `[aé]`: "beyond ASCII", `(?<!a)b`: "looks around",
		`(?P<n>a)\k<n>`: "refers back", nested(51): "more than 50 parentheses",
	} {
		if _, err := Expression(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	many := slices.Repeat([]string{"^/[a-z0-9]{200}$"}, 200)
	if at, err := CheckExpressions(many); at == 0 || err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("%d: %v", at, err)
	}
	letters := strings.Repeat("\U0001F600", 4096)
	if at, err := CheckExpressions([]string{letters}); err == nil {
		t.Errorf("%d: takes letters of four bytes as if they had one", at)
	}
	for _, text := range []string{nested(50) + nested(50), `^/a{2,}b{3}[]a-z^[:digit:]]\{(?i:x)(?P<name>y)\.$`,
		`[^]]`, `[a\-\-b]`} {
		if _, err := Expression(text); err != nil {
			t.Error(err)
		}
	}
}

func TestFillsWhatRulesLeaveOut(t *testing.T) {
	set, err := schema.Into[HTTPPolicySet](created(t, "httppolicyset", `{"name":"s",
		"http_security_policy":{"rules":[{"name":"b","index":2,"action":{"action":"HTTP_SECURITY_ACTION_REDIRECT_TO_HTTPS"}},
			{"name":"off","index":0,"enable":false,"action":{"action":"HTTP_SECURITY_ACTION_ALLOW"}},
			{"name":"a","index":1,"action":{"action":"HTTP_SECURITY_ACTION_ALLOW"}}]},
		"http_request_policy":{"rules":[{"name":"r","index":1,"redirect_action":{"protocol":"HTTP",
			"path":{"type":"URI_PARAM_TYPE_TOKENIZED","tokens":[{"type":"URI_TOKEN_TYPE_PATH","start_index":3}]}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if port := set.Security.Rules[0].Action.HTTPSPort; port != 443 {
		t.Errorf("redirects to port %d", port)
	}
	if token := set.Request.Rules[0].Redirect.Path.Tokens[0]; token.Last != 3 ||
		!set.Request.Rules[0].Redirect.KeepQuery {
		t.Errorf("got %+v", token)
	}
	var order []string
	for _, placed := range set.SecurityRules() {
		order = append(order, fmt.Sprint(placed.Rule.Name, placed.At))
	}
	if got := strings.Join(order, " "); got != "a2 b0" {
		t.Errorf("rules are in the order %s", got)
	}
}

func TestRulesThatAreOffCloseNothing(t *testing.T) {
	rule := func(enable string) string {
		return securityRule(`,"enable":` + enable + `,"action":{"action":"HTTP_SECURITY_ACTION_CLOSE_CONN"},
			"match":{"geo_matches":[{"attribute":"ATTRIBUTE_CITY_NAME","match_operation":"IS_IN","values":["Berlin"]}]}`)
	}
	k := kindOf(t, "httppolicyset")
	if found := k.KeptFields(created(t, "httppolicyset", rule("false"))); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	found := k.KeptFields(created(t, "httppolicyset", rule("true")))
	if len(found) != 1 || !found[0].Closes ||
		found[0].Field != "http_security_policy.rules[0].match.geo_matches[0].attribute" {
		t.Errorf("found %v", found)
	}
}

func TestChecksGroupsOfTextsAndOfAddresses(t *testing.T) {
	many := strings.Repeat(`"a",`, 256) + `"a"`
	for _, c := range []struct{ kind, body, want string }{
		{"stringgroup", `{"name":"g","kv":[{"key":"a"},{"key":"a"}]}`, `kv[1].key: "a" is kv[0] already`},
		{"stringgroup", `{"name":"g","kv":[{"key":"a","value":"b"}]}`, "kv[0].value: is for type SG_TYPE_KEYVAL"},
		{"stringgroup", `{"name":"g","type":"SG_TYPE_KEYVAL","kv":[{"key":"a"}]}`, "kv[0].value: is required by type"},
		{"stringgroup", `{"name":"g","kv":[` + strings.Repeat(`{"key":"a"},`, 10000) + `{"key":"b"}]}`,
			"kv: has 10001 items; give at most 10000"},
		{"httppolicyset", requestRule(`,"match":{"path":{"match_criteria":"CONTAINS","match_str":[` + many + `]}}`),
			"match.path.match_str: has 257 items; give at most 256"},
		{"httppolicyset", requestRule(`,"match":{"query":{"match_criteria":"QUERY_MATCH_EQUALS","match_str":[` + many +
			`]}}`), "match.query.match_str: has 257 items; give at most 256"},
		{"httppolicyset", requestRule(`,"match":{"host_hdr":{"match_criteria":"HDR_EQUALS","value":[` + many + `]}}`),
			"match.host_hdr.value: has 257 items; give at most 256"},
		{"httppolicyset", responseRule(`,"match":{"status":{"match_criteria":"IS_IN","status_codes":[101]}}`),
			"match.status.status_codes[0]: 101"},
		{"ipaddrgroup", `{"name":"g","prefixes":[{"ip_addr":{"addr":"10.0.0.0"},"mask":33}]}`, "prefixes[0].mask"},
		{"ipaddrgroup", `{"name":"g","addrs":[{"addr":"a.test"}]}`, "addrs[0].addr"},
		{"ipaddrgroup", `{"name":"g","country_codes":["DE","Germany"]}`, "country_codes[1]"},
		{"ipaddrgroup", `{"name":"g","country_codes":["DE","DE"]}`, "country_codes[1]"},
		{"ipaddrgroup", `{"name":"g","ranges":[{"begin":{"addr":"10.0.0.2"},"end":{"addr":"10.0.0.1"}}]}`,
			"ranges[0]: its end is before its beginning"},
		{"virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":80}],"http_policies":[
			{"index":1,"http_policy_set_ref":"httppolicyset-1"},{"index":1,"http_policy_set_ref":"httppolicyset-2"}]}`,
			"http_policies[1].index: 1 is the index of http_policies[0] already"},
		{"virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":80}],"http_policies":[
			{"index":1,"http_policy_set_ref":"httppolicyset-1"},{"index":2,"http_policy_set_ref":"httppolicyset-1"}]}`,
			"http_policies[1].http_policy_set_ref: is in http_policies[0] already"},
	} {
		if got := refusalOf(t, c.kind, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%.80s\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}
