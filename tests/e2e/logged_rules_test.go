package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// Without full_client_logs, only what a rule wants to be logged leaves records of requests that are not significant.
func TestRulesHaveRequestsRecorded(t *testing.T) {
	const allow = "HTTP_SECURITY_ACTION_ALLOW"
	s := policyStage(t, client.Object{
		"http_security_policy": object{"rules": numbered([]object{
			{"name": "let in", "match": onPath("BEGINS_WITH", "/in"),
				"action": object{"action": allow}, "log": true}})},
		"http_request_policy": requestRules(
			object{"name": "to api", "match": onPath("BEGINS_WITH", "/api"),
				"switching_action": toPool("api"), "log": true},
			object{"name": "add, too", "hdr_action": list{header("HTTP_ADD_HDR", "X-Added", "1")}}),
		"http_response_policy": requestRules(
			object{"name": "whole", "match": onPath("BEGINS_WITH", "/whole"), "all_headers": true}),
	})
	// Each request has a record of its own, also on a fast machine.
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["analytics_policy"] = object{"udf_log_throttle": 0}
	})
	for _, path := range []string{"/in", "/api", "/whole", "/silent"} {
		s.everyWay(path, nil, func(way, answer string) {
			if !strings.HasSuffix(answer, " 200") {
				t.Errorf("%s: got %q", way, answer)
			}
		})
	}
	for filter, path := range map[string]string{
		"eq(http_security_policy_rule_name,let in)": "/in", "eq(http_request_policy_rule_name,to api)": "/api",
		"eq(http_response_policy_rule_name,whole)": "/whole",
	} {
		s.eventually(filter+" finds its records", func() error {
			page, err := s.records("type=1&udf=true&adf=false&filter=" + url.QueryEscape(filter))
			if err == nil && (page.Weight != 4 || page.Results[0]["uri_path"] != path ||
				!strings.Contains(fmt.Sprint(page.Results[0]["http_request_policy_rule_name"]), "add, too")) {
				err = fmt.Errorf("the records are %v", page)
			}
			return err
		})
	}
	page, err := s.records("type=1&filter=" + url.QueryEscape("eq(http_response_policy_rule_name,whole)"))
	s.must(err)
	record := fmt.Sprint(page.Results[0]["all_request_headers"], page.Results[0]["all_response_headers"])
	if low := strings.ToLower(record); !strings.Contains(low, "user-agent: curl") ||
		!strings.Contains(low, "x-internal: web") {
		t.Errorf("the header fields are %s", record)
	}
	id := fmt.Sprint(page.Results[0]["request_id"])
	run := s.commands()
	if out := run("explain", id); !strings.Contains(out, "whole (of responses)") {
		t.Errorf("explain says %s", out)
	}
	if out := run("logs", "web", "--filter", "response_rule=whole"); !strings.Contains(out, "response rule whole") {
		t.Errorf("logs says %s", out)
	}
	if silent, err := s.records("type=1&filter=eq(uri_path,/silent)"); err != nil || silent.Count != 0 {
		t.Errorf("no rule wants %v, %v", silent, err)
	}
	s.create("networksecuritypolicy", client.Object{"name": "house", "rules": list{object{
		"name": "everybody", "index": 1, "enable": true, "log": true, "match": object{},
		"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW"}}})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["network_security_policy_ref"] = client.Ref("networksecuritypolicy", "house")
	})
	s.eventually("a rule for connections has requests recorded", func() error {
		s.ask(false, "shop.test", "/connected")
		page, err := s.records("type=1&udf=true&adf=false&filter=" +
			url.QueryEscape("eq(network_security_policy_rule_name,everybody)"))
		if err == nil && (page.Count == 0 || page.Results[0]["uri_path"] != "/connected") {
			err = fmt.Errorf("the records are %v", page)
		}
		return err
	})
}
