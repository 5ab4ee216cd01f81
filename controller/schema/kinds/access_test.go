package kinds

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRulesOfAccessThatWouldLetOthersInAreRefused(t *testing.T) {
	const allow, refuse = `"action": {"type": "ALLOW_ACCESS"}`, `"action": {"type": "CLOSE_CONNECTION"}`
	claim := func(more string) string {
		return `{"access_token": {"matches": [{"name": "a", ` + more + `}]}}`
	}
	authz := func(match, action string) string {
		return `{"authorization_policy": {"authz_rules": [{"name": "r", "enable": true, "index": 1, "match": ` + match + `, ` +
			action + `}]}}`
	}
	for object, want := range map[string]string{
		`{"authentication_policy": {"authn_rules": [{"name": "r", "enable": true, "action": {"type": "SKIP_AUTHENTICATION"}}]}}`:                                               "names nothing",
		`{"authentication_policy": {"authn_rules": [{"name": "r", "enable": true, "match": {}, "action": {"type": "SKIP_AUTHENTICATION"}}]}}`:                                  "names nothing",
		`{"authentication_policy": {"authn_rules": [{"name": "r", "index": 1}, {"name": "s", "index": 1}]}}`:                                                                   "is the index of",
		`{"authentication_policy": {"authn_rules": [{"name": "r", "match": {"path": {"match_criteria": "REGEX_MATCH", "match_str": ["(?=a)"], "match_case": "SENSITIVE"}}}]}}`: "looks around",
		authz(`{}`, allow): "only allow",
		authz(`{"method": {"match_criteria": "IS_IN", "methods": []}}`, refuse):                                          "at least one method",
		authz(`{"access_token": {"matches": []}}`, refuse):                                                               "at least one claim",
		authz(claim(`"type": "JWT_CLAIM_TYPE_STRING", "is_mandatory": false, "validate": false`), refuse):                "compares nothing",
		authz(claim(`"type": "JWT_CLAIM_TYPE_STRING", "is_mandatory": true, "validate": true`), refuse):                  "nothing to compare with",
		authz(claim(`"type": "JWT_CLAIM_TYPE_INT", "is_mandatory": true, "validate": true, "bool_match": true`), refuse): "is for claims of",
		authz(claim(`"type": "JWT_CLAIM_TYPE_INT", "is_mandatory": true, "validate": false, "int_match": 0`), refuse):    "only if validate",
		authz(claim(`"type": "JWT_CLAIM_TYPE_STRING", "is_mandatory": true, "validate": true,
			"string_match": {"match_criteria": "EQUALS"}`), refuse): "needs a text",
		authz(`{}`, `"action": {"type": "HTTP_LOCAL_RESPONSE"}`):                                              "is required",
		authz(`{}`, `"action": {"type": "CLOSE_CONNECTION", "status_code": "HTTP_RESPONSE_STATUS_CODE_401"}`): "is for",
		authz(`{}`, refuse): "",
		authz(claim(`"type": "JWT_CLAIM_TYPE_INT", "is_mandatory": false, "validate": true, "int_match": 0`), refuse): "",
	} {
		var policy SSOPolicy
		if err := json.Unmarshal([]byte(object), &policy); err != nil {
			t.Fatal(object, err)
		}
		problem := policy.CheckRules()
		if want == "" && problem != nil || want != "" && (problem == nil || !strings.Contains(problem.Problem, want)) {
			t.Errorf("%s: %v, want %q", object, problem, want)
		}
	}
}
