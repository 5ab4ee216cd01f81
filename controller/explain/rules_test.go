package explain

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func edit(kind dataplanev1.EditKind, name string) *dataplanev1.EditTold {
	return &dataplanev1.EditTold{Kind: kind, Name: name}
}

const adds = dataplanev1.EditKind_EDIT_KIND_ADD

// canary is a request that a rule marks, another one sends to a pool, and a third one would.
func canary() *dataplanev1.Explanation {
	cookie := edit(dataplanev1.EditKind_EDIT_KIND_REMOVE, "id")
	cookie.Cookie = true
	return &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", PoolUuid: "pool-1", Rules: &dataplanev1.RulesTold{
		NetworkRule: "office", RequestRulesTotal: 3, Host: "inner.test", Target: "/new?q",
		RequestRules: []*dataplanev1.RuleTold{
			{PolicySet: "house", Name: "mark", Edits: []*dataplanev1.EditTold{edit(adds, "X-Mark"), cookie}},
			{PolicySet: "house", Name: "canary", Host: "inner.test", Target: "/new?q", Chooses: true},
			{PolicySet: "late", Name: "all", RewritesLate: true, ChoosesLate: true},
		}}}
}

func TestRulesThatActAreToldInTheirOrderWithWhatTheyDo(t *testing.T) {
	s := newStage(t)
	const want = "\nrules: The network security rule office lets the client in. " +
		"The request rule mark of house adds the header X-Mark and removes the cookie id. " +
		"The request rule canary of house rewrites the URL to inner.test/new?q and chooses the pool. " +
		"The request rule all of late rewrites nothing, because a rule before it has rewritten the URL, and " +
		"chooses nothing, because a rule before it has chosen the pool. " +
		"The server is asked for inner.test/new?q.\n"
	s.Contains(s.told(canary(), everything), want)
	page := s.explain(ask("shop.test"), everything)["one"]
	s.Contains(page, "request_rule:canary", "pool_chosen_by:request_rule", "network_security_rule:office",
		"server_request:map[host:inner.test target:/new?q]", "edits:[map[action:add header:X-Mark]",
		"rewritten_to:map[host:inner.test target:/new?q]", "name:mark policy_set:house")
	if rules, _ := page["request_rules"].([]any); len(rules) != 3 {
		t.Errorf("%v", page["request_rules"])
	}
}

func TestRulesOfOtherKindsAreTold(t *testing.T) {
	s := newStage(t)
	for want, told := range map[string]*dataplanev1.RulesTold{
		"The network security rule office bars the client.":   {NetworkRule: "office", NetworkRuleBars: true},
		"The layer-4 rule l4/office chooses the pool.":        {PoolRule: "l4/office"},
		"The port chooses the pool (service_pool_select[1]).": {PoolRule: "service_pool_select[1]"},
		"The server is asked for the host inner.test.":        {Host: "inner.test"},
		"The server is asked for /new.":                       {Target: "/new"},
		"The request rule a of b matches, and changes nothing.": {
			RequestRules: []*dataplanev1.RuleTold{{Name: "a", PolicySet: "b"}}},
		"The request rule a of b answers with 403.": {
			RequestRules: []*dataplanev1.RuleTold{{Name: "a", PolicySet: "b", Status: 403}}},
		"neither rewrites nor redirects, because the request lacks a part of the new URL.": {
			RequestRules: []*dataplanev1.RuleTold{{Name: "a", PolicySet: "b", LacksPart: true}}},
		"Of the request rules that act, 7 are not shown.": {RequestRulesTotal: 7},
	} {
		s.Contains(s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1", Rules: told}, everything),
			"rules: ", want)
	}
	group := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", PoolGroupUuid: "group-1",
		Rules: &dataplanev1.RulesTold{PoolRule: "l4/office"}}
	s.Contains(s.told(group, everything), "The layer-4 rule l4/office chooses the pool group.")
}

func TestWhatScriptsDoIsTold(t *testing.T) {
	s := newStage(t)
	said := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", Said: proto.String("hi"),
		Rules: &dataplanev1.RulesTold{
			PoolByScript: true, ScriptEdits: []*dataplanev1.EditTold{edit(adds, "X-Seen")}}}
	s.Contains(s.told(said, everything),
		`rules: DataScripts run, say "hi", add the header X-Seen, and choose the pool.`)
	page := s.explain(ask("shop.test"), everything)["one"]
	s.Contains(page, "pool_chosen_by:datascript", "datascript_edits:[map[action:add header:X-Seen]]")
	said = &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", Said: proto.String("")}
	s.Contains(s.told(said, everything), "rules: DataScripts run.")
}

func TestManyEditsAreCutAndTheChoiceIsNot(t *testing.T) {
	s := newStage(t)
	rule := &dataplanev1.RuleTold{Name: "a", PolicySet: "b", Chooses: true}
	for n := range 40 {
		rule.Edits = append(rule.Edits, edit(adds, fmt.Sprintf("X-%d", n)))
	}
	said := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1",
		Rules: &dataplanev1.RulesTold{RequestRules: []*dataplanev1.RuleTold{rule}}}
	s.Contains(s.told(said, everything), "adds the header X-0, ",
		fmt.Sprintf("makes %d more edits, and chooses the pool.", 40-namesShown))
}

func TestServerIsAskedNothingWhereTheEngineOrItsCacheAnswers(t *testing.T) {
	s := newStage(t)
	for _, change := range []func(*dataplanev1.Explanation){
		func(said *dataplanev1.Explanation) { said.Cause, said.Status = "no_server", 503 },
		func(said *dataplanev1.Explanation) { said.Cache = &dataplanev1.CacheTold{Kind: "hit"} },
	} {
		said := canary()
		change(said)
		if got := s.told(said, everything); strings.Contains(got, "is asked for") {
			t.Error(got)
		}
		if page := s.explain(ask("shop.test"), everything)["one"]; page["server_request"] != nil {
			t.Errorf("%v", page)
		}
	}
}
