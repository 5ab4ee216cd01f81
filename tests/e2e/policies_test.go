package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// telling is a server that answers with its name, with what it was asked, and with the fields X-… of the request.
func telling(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "secret")
		w.Header().Set("X-Internal", name)
		fmt.Fprintf(w, "%s: %s%s", name, r.Host, r.RequestURI)
		for _, field := range []string{"X-Debug", "X-Added", "X-Client", "Cookie", "X-Pool"} {
			if values := r.Header.Values(field); len(values) > 0 {
				fmt.Fprintf(w, " %s=%s", field, strings.Join(values, ","))
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

type list = []any
type object = map[string]any

// policyStage serves "web" with the pool of this name. Its rules are those of the set "rules"; there is a pool "api".
func policyStage(t *testing.T, policies client.Object, prepare ...func(*stage)) *stage {
	t.Helper()
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	for _, name := range []string{"web", "api"} {
		s.create("pool", client.Object{"name": name, "servers": serverList([]string{telling(t, name)})})
	}
	for _, each := range prepare {
		each(s)
	}
	policies["name"] = "rules"
	s.create("httppolicyset", policies)
	s.create("vsvip", client.Object{"name": "web", "vip": list{
		object{"vip_id": "1", "ip_address": object{"addr": vip, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": "web", "vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
		"services": list{object{"port": tlsPort, "enable_ssl": true, "enable_http2": true},
			object{"port": plainPort, "enable_http2": true}},
		"http_policies": list{object{"index": 1, "http_policy_set_ref": client.Ref("httppolicyset", "rules")}}})
	s.waitUp("web")
	return s
}

// requestRules gives rules the indexes of their places.
func requestRules(rules ...object) object { return object{"rules": numbered(rules)} }

func numbered(rules []object) (all list) {
	for i, rule := range rules {
		rule["index"] = i + 1
		if rule["name"] == nil {
			rule["name"] = fmt.Sprint("rule ", i+1)
		}
		all = append(all, rule)
	}
	return all
}

func onPath(criteria string, texts ...any) object {
	return object{"path": object{"match_criteria": criteria, "match_str": texts}}
}

func toPool(name string) object {
	return object{"action": "HTTP_SWITCHING_SELECT_POOL", "pool_ref": client.Ref("pool", name)}
}

func tokens(all ...any) object { return object{"type": "URI_PARAM_TYPE_TOKENIZED", "tokens": all} }

func textToken(text string) object { return object{"type": "URI_TOKEN_TYPE_STRING", "str_value": text} }

func pathToken(first, last int) object {
	return object{"type": "URI_TOKEN_TYPE_PATH", "start_index": first, "end_index": last}
}

func header(action, name, value string) object {
	field := object{"name": name}
	if value != "" {
		field["value"] = object{"val": value}
	}
	return object{"action": action, "hdr": field}
}

// everyWay asks over HTTP/1.1 and HTTP/2, with TLS and without.
func (s *stage) everyWay(path string, flags []string, check func(way, answer string)) {
	s.Helper()
	for _, way := range []struct {
		secure bool
		flag   string
	}{{false, "--http1.1"}, {false, "--http2-prior-knowledge"}, {true, "--http1.1"}, {true, "--http2"}} {
		check(fmt.Sprint(path, way), s.ask(way.secure, "shop.test", path, append([]string{way.flag}, flags...)...))
	}
}

func TestRulesChoosePoolsChangeFieldsRedirectAndRewrite(t *testing.T) {
	s := policyStage(t, client.Object{
		"http_request_policy": requestRules(
			object{"match": onPath("BEGINS_WITH", "/api/"), "switching_action": toPool("api"), "hdr_action": list{
				header("HTTP_REMOVE_HDR", "X-Debug", ""), header("HTTP_ADD_HDR", "X-Added", "by weir"),
				object{"action": "HTTP_REPLACE_HDR", "hdr": object{"name": "X-Client",
					"value": object{"var": "HTTP_POLICY_VAR_CLIENT_IP"}}},
				object{"action": "HTTP_REMOVE_HDR", "cookie": object{"name": "spy"}}}},
			object{"match": onPath("BEGINS_WITH", "/old/"), "redirect_action": object{
				"protocol": "HTTPS", "status_code": "HTTP_REDIRECT_STATUS_CODE_301", "port": 444,
				"add_string": "from=old",
				"host": tokens(textToken("new"), object{"type": "URI_TOKEN_TYPE_HOST", "start_index": 1,
					"end_index": 65535}),
				"path": tokens(pathToken(1, 65535))}},
			object{"match": onPath("BEGINS_WITH", "/v1/"), "rewrite_url_action": object{
				"path":     tokens(textToken("v2"), pathToken(1, 65535)),
				"host_hdr": tokens(textToken("inner.test")), "query": object{"add_string": "v=1"}}},
			object{"match": onPath("REGEX_MATCH", "^/user/([0-9]+)/(.*)$"), "rewrite_url_action": object{
				"path":  tokens(object{"type": "URI_TOKEN_TYPE_REGEX", "start_index": 2}),
				"query": object{"keep_query": false}}},
			object{"match": onPath("EQUALS", "/tea"), "switching_action": object{
				"action": "HTTP_SWITCHING_SELECT_LOCAL", "other_status_code": 418,
				"file": object{"content_type": "text/plain", "file_content": "short and stout"}}}),
		"http_response_policy": object{"rules": numbered([]object{
			{"hdr_action": list{header("HTTP_REMOVE_HDR", "X-Internal", ""),
				header("HTTP_REPLACE_HDR", "Server", "weir")}},
			{"match": object{"status": object{"match_criteria": "IS_IN", "status_codes": list{200}},
				"path": object{"match_criteria": "BEGINS_WITH", "match_str": list{"/api/"}}},
				"hdr_action": list{header("HTTP_ADD_HDR", "X-Api", "yes")}}})},
	})
	s.everyWay("/api/1", []string{"-i", "-H", "X-Debug: on", "-H", "X-Client: a lie", "-H", "Cookie: a=1; spy=2; b=3"},
		func(way, answer string) {
			s.Helper()
			for _, want := range []string{"api: shop.test", "/api/1 X-Added=by weir X-Client=127.", "Cookie=a=1; b=3",
				"x-api: yes", "server: weir"} {
				if !strings.Contains(strings.ToLower(answer), strings.ToLower(want)) {
					t.Errorf("%s: %q is missing in\n%s", way, want, answer)
				}
			}
			for _, unwanted := range []string{"x-internal", "secret", "X-Debug=", "a lie"} {
				if strings.Contains(strings.ToLower(answer), strings.ToLower(unwanted)) {
					t.Errorf("%s: %q is in\n%s", way, unwanted, answer)
				}
			}
		})
	s.everyWay("/apis", []string{"-i"}, func(way, answer string) {
		if !strings.Contains(answer, "web: ") || strings.Contains(strings.ToLower(answer), "x-api") {
			t.Errorf("%s: got\n%s", way, answer)
		}
	})
	s.everyWay("/old/a/b?c=1", []string{"-i"}, func(way, answer string) {
		location := "location: https://new.test:444/a/b?c=1&from=old\r\n"
		if !strings.HasSuffix(answer, " 301") || !strings.Contains(strings.ToLower(answer), location) {
			t.Errorf("%s: got\n%s", way, answer)
		}
	})
	s.everyWay("/v1/item/7?x=2", nil, func(way, answer string) {
		s.gets(way, answer, "web: inner.test/v2/item/7?x=2&v=1 200")
	})
	s.everyWay("/user/42/books?x=2", nil, func(way, answer string) {
		if !strings.Contains(answer, "/books 200") || strings.Contains(answer, "x=2") {
			t.Errorf("%s: got %q", way, answer)
		}
	})
	s.everyWay("/tea", nil, func(way, answer string) { s.gets(way, answer, "short and stout 418") })
}

func TestSecurityRulesKeepOutByPathAndByAddress(t *testing.T) {
	friend, enemy := loopback(21), loopback(22)
	answer := object{"action": "HTTP_SECURITY_ACTION_SEND_RESPONSE",
		"status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_403",
		"file":        object{"content_type": "text/plain", "file_content": "not for you"}}
	from := func(group string) object {
		return object{"client_ip": object{"match_criteria": "IS_IN",
			"group_refs": list{client.Ref("ipaddrgroup", group)}}}
	}
	s := policyStage(t, client.Object{"http_security_policy": object{"rules": numbered([]object{
		{"name": "friends", "match": from("friends"), "action": object{"action": "HTTP_SECURITY_ACTION_ALLOW"}},
		{"name": "admin", "match": onPath("BEGINS_WITH", "/admin"), "action": answer},
		{"name": "enemies", "match": from("enemies"), "action": answer},
		{"name": "never", "enable": false, "action": answer},
	})}}, func(s *stage) {
		s.create("ipaddrgroup", client.Object{"name": "friends", "addrs": list{object{"addr": friend}}})
		s.create("ipaddrgroup", client.Object{"name": "enemies", "ranges": list{
			object{"begin": object{"addr": enemy}, "end": object{"addr": enemy}}}})
	})
	for _, c := range []struct{ path, client, want string }{
		{"/", loopback(20), " 200"}, {"/admin/1", loopback(20), "not for you 403"},
		{"/%61dmin", loopback(20), "not for you 403"}, {"/admin/1", friend, "/admin/1 200"},
		{"/", enemy, "not for you 403"},
	} {
		s.everyWay(c.path, []string{"--interface", c.client}, func(way, answer string) {
			if !strings.HasSuffix(answer, c.want) {
				t.Errorf("%s from %s: got %q, want %q", way, c.client, answer, c.want)
			}
		})
	}

	s.change("ipaddrgroup", "enemies", func(o client.Object) {
		o["ranges"] = list{object{"begin": object{"addr": loopback(20)}, "end": object{"addr": loopback(20)}}}
	})
	s.eventually("another group of addresses is in force", func() error {
		was := s.ask(false, "shop.test", "/", "--interface", enemy)
		is := s.ask(false, "shop.test", "/", "--interface", loopback(20))
		if !strings.HasSuffix(was, " 200") || !strings.HasSuffix(is, " 403") {
			return fmt.Errorf("got %q and %q", was, is)
		}
		return nil
	})
}

func TestGroupOfAThousandTextsChoosesAndGivesPaths(t *testing.T) {
	const keys = 1000
	s := policyStage(t, client.Object{"http_request_policy": requestRules(object{
		"match": object{"path": object{"match_criteria": "EQUALS", "string_group_refs": list{
			client.Ref("stringgroup", "pages")}}},
		"switching_action":   toPool("api"),
		"rewrite_url_action": object{"path": tokens(object{"type": "URI_TOKEN_TYPE_STRING_GROUP"})},
	})}, func(s *stage) {
		var pairs list
		for i := range keys {
			pairs = append(pairs, object{"key": fmt.Sprintf("/page/%d", i), "value": fmt.Sprintf("content/%d.html", i)})
		}
		s.create("stringgroup", client.Object{"name": "pages", "type": "SG_TYPE_KEYVAL", "kv": pairs})
	})
	for _, n := range []int{0, 1, 499, keys - 1} {
		s.everyWay(fmt.Sprintf("/page/%d", n), nil, func(way, answer string) {
			if !strings.HasPrefix(answer, "api: ") || !strings.HasSuffix(answer,
				fmt.Sprintf("/content/%d.html 200", n)) {
				t.Errorf("%s: got %q", way, answer)
			}
		})
	}
	s.everyWay(fmt.Sprintf("/page/%d", keys), nil, func(way, answer string) {
		if !strings.HasPrefix(answer, "web: ") {
			t.Errorf("%s: got %q", way, answer)
		}
	})
}

func TestPolicyThatEnginesCannotCarryOutIsRefusedOrKeepsItsServiceOffline(t *testing.T) {
	s := policyStage(t, client.Object{"http_security_policy": object{"rules": numbered([]object{
		{"name": "all", "action": object{"action": "HTTP_SECURITY_ACTION_ALLOW"}}})}})
	_, err := s.controller.Session.Create(s.ctx, "httppolicyset", client.Object{"name": "broken",
		"http_request_policy": requestRules(object{"name": "behind", "match": onPath("REGEX_MATCH", "^/a(?!b)")})})
	if err == nil || !strings.Contains(err.Error(), "rule behind") ||
		!strings.Contains(err.Error(), "http_request_policy.rules[0].match.path.match_str[0]") {
		t.Errorf("the API says %v", err)
	}
	contains(t, s.ask(false, "shop.test", "/"), "web: ", " 200")
	s.change("httppolicyset", "rules", func(o client.Object) {
		o["http_security_policy"] = object{"rules": numbered([]object{{"name": "slowly", "action": object{
			"action": "HTTP_SECURITY_ACTION_REQUEST_CHECK_ICAP"}}})}
	})
	s.eventually("a rule that cannot be carried out leaves no request through", func() error {
		status := fmt.Sprint(s.runtime("virtualservice", "web")["oper_status"])
		if !strings.Contains(status, "OPER_DOWN") || !strings.Contains(status, "http_security_policy.rules[0]") {
			return fmt.Errorf("it is %s", status)
		}
		if answer, err := s.tryCurl(asking(false, "shop.test", "/")...); err == nil {
			return fmt.Errorf("it answers %q", answer)
		}
		return nil
	})
}

func TestPolicyThatChangesUnderLoadLosesNoRequest(t *testing.T) {
	s := policyStage(t, client.Object{"http_request_policy": requestRules(
		object{"match": onPath("BEGINS_WITH", "/"), "switching_action": toPool("web")})})
	report := s.underLoad(func() {
		for i := range 6 {
			name := []string{"api", "web"}[i%2]
			s.change("httppolicyset", "rules", func(o client.Object) {
				o["http_request_policy"] = requestRules(
					object{"match": onPath("BEGINS_WITH", "/"), "switching_action": toPool(name),
						"hdr_action": list{header("HTTP_ADD_HDR", "X-Added", fmt.Sprint(i))}})
			})
			s.eventually("the next policy is in force", func() error {
				want := fmt.Sprintf("%s: shop.test:%d/ X-Added=%d 200", name, plainPort, i)
				if got := s.ask(false, "shop.test", "/"); got != want {
					return fmt.Errorf("got %q, want %q", got, want)
				}
				return nil
			})
		}
	}, "--url", plainURL("/"), "--connections", "8")
	if report.ErrorTotal != 0 || report.Requests == 0 {
		t.Errorf("%d of %d requests failed: %v", report.ErrorTotal, report.Requests, report.Errors)
	}
}
