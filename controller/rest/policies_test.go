package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestRulesReferToPoolsAndGroupsAsOtherObjectsDo(t *testing.T) {
	c := newHouse(t).login()
	own, api := c.pool("web"), c.pool("api")
	texts := c.want(http.StatusCreated, "POST", "/api/stringgroup",
		sent{"name": "texts", "kv": listOf(sent{"key": "/a"})})
	office := c.want(http.StatusCreated, "POST", "/api/ipaddrgroup",
		sent{"name": "office", "addrs": listOf(sent{"addr": "10.0.0.1"})})
	set := c.want(http.StatusCreated, "POST", "/api/httppolicyset", sent{"name": "rules",
		"http_security_policy": sent{"rules": listOf(sent{"name": "known", "index": 1,
			"action": sent{"action": "HTTP_SECURITY_ACTION_ALLOW"}, "match": sent{"client_ip": sent{
				"match_criteria": "IS_IN", "group_refs": listOf("/api/ipaddrgroup?name=office")}}})},
		"http_request_policy": sent{"rules": listOf(sent{"name": "api", "index": 1,
			"match": sent{"path": sent{"match_criteria": "EQUALS",
				"string_group_refs": listOf(texts["uuid"])}},
			"switching_action": sent{"action": "HTTP_SWITCHING_SELECT_POOL", "pool_ref": "/api/pool?name=api"}})}})
	body := onVip(c.vip("v"), "v", own["uuid"])
	body["http_policies"] = listOf(sent{"index": 11, "http_policy_set_ref": "/api/httppolicyset?name=rules"})
	service := c.want(http.StatusCreated, "POST", "/api/virtualservice", body)
	if said := warningsIn(service); said != "" {
		t.Errorf("the reply says %s", said)
	}

	c.refused(http.StatusPreconditionFailed, "HTTPPolicySet rules", "DELETE", path(api), nil)
	c.refused(http.StatusPreconditionFailed, "HTTPPolicySet rules", "DELETE", path(texts), nil)
	c.refused(http.StatusPreconditionFailed, "HTTPPolicySet rules", "DELETE", path(office), nil)
	c.refused(http.StatusPreconditionFailed, "VirtualService v", "DELETE", path(set), nil)
	if got := names(c.want(http.StatusOK, "GET",
		"/api/httppolicyset?refers_to=pool:"+api["uuid"].(string), nil)); got != "rules" {
		t.Errorf("of the pool are found: %s", got)
	}

	shown := c.want(http.StatusOK, "GET", "/api/virtualservice-inventory/"+service["uuid"].(string)+
		"?include_name", nil)
	if pools := fmt.Sprint(shown["pools"]); !strings.Contains(pools, "#web") || !strings.Contains(pools, "#api") {
		t.Errorf("its pools are %s", pools)
	}
	shown = c.want(http.StatusOK, "GET", "/api/pool-inventory/"+api["uuid"].(string), nil)
	if services := fmt.Sprint(shown["virtualservices"]); !strings.Contains(services, service["uuid"].(string)) {
		t.Errorf("the pool serves %s", services)
	}

	for _, made := range []sent{service, set, texts, office, api} {
		c.want(http.StatusNoContent, "DELETE", path(made), nil)
	}
}

func TestRuleThatCannotRunIsRefusedByItsName(t *testing.T) {
	c := newHouse(t).login()
	rule := sent{"name": "broken", "index": 1, "action": sent{"action": "HTTP_SECURITY_ACTION_CLOSE_CONN"},
		"match": sent{"path": sent{"match_criteria": "REGEX_MATCH", "match_str": listOf("/(a")}}}
	body := sent{"name": "s", "http_security_policy": sent{"rules": listOf(rule)}}
	c.refused(http.StatusBadRequest,
		"httppolicyset: http_security_policy.rules[0].match.path.match_str[0]: rule broken: ", "POST",
		"/api/httppolicyset", body)
	rule["match"] = nil
	rule["action"] = sent{"action": "HTTP_SECURITY_ACTION_REQUEST_CHECK_ICAP"}
	made := c.want(http.StatusCreated, "POST", "/api/httppolicyset", body)
	const said = "http_security_policy.rules[0].action.action: engines do not send requests to other services for inspection yet: " +
		"no virtual service with this httppolicyset is served"
	if got := warningsIn(made); got != said {
		t.Errorf("the reply says\n%s", got)
	}
}
