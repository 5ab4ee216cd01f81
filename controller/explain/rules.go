package explain

import (
	"fmt"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema"
)

// network says which rule for connections decides about the client; empty: none does.
func network(told *dataplanev1.RulesTold) string {
	switch name := told.GetNetworkRule(); {
	case name == "":
		return ""
	case told.GetNetworkRuleBars():
		return fmt.Sprintf("the network security rule %s bars the client", name)
	default:
		return fmt.Sprintf("the network security rule %s lets the client in", name)
	}
}

// acts are sentences about what rules of requests and scripts do, which rule chooses the pool, and what the server is
// asked for.
func acts(said *dataplanev1.Explanation) (sentences []string) {
	told := said.GetRules()
	add := func(format string, of ...any) { sentences = append(sentences, fmt.Sprintf(format, of...)) }
	pool := "the pool"
	if said.GetPoolGroupUuid() != "" {
		pool = "the pool group"
	}
	for _, rule := range told.GetRequestRules() {
		add("The request rule %s of %s %s.", rule.GetName(), rule.GetPolicySet(), joined(does(rule, pool)))
	}
	if more := int(told.GetRequestRulesTotal()) - len(told.GetRequestRules()); more > 0 {
		add("Of the request rules that act, %d are not shown.", more)
	}
	if said.Said != nil {
		did := []string{"run"}
		if lines := said.GetSaid(); lines != "" {
			did = append(did, fmt.Sprintf("say %q", lines))
		}
		did = append(did, edits(told.GetScriptEdits(), "")...)
		if told.GetPoolByScript() {
			did = append(did, "choose "+pool)
		}
		add("DataScripts %s.", joined(did))
	}
	if name := told.GetPoolRule(); strings.HasPrefix(name, "service_pool_select[") {
		add("The port chooses %s (%s).", pool, name)
	} else if name != "" {
		add("The layer-4 rule %s chooses %s.", name, pool)
	}
	if url := told.GetHost() + told.GetTarget(); url != "" && goesToServer(said) {
		if told.GetTarget() == "" {
			url = "the host " + url
		}
		add("The server is asked for %s.", url)
	}
	return sentences
}

// goesToServer tells whether neither the engine nor its cache answers.
func goesToServer(said *dataplanev1.Explanation) bool {
	return said.GetCause() == "" && said.GetCache().GetKind() != "hit"
}

// does says what a request rule does.
func does(rule *dataplanev1.RuleTold, pool string) []string {
	did := edits(rule.GetEdits(), "s")
	if rule.GetTarget() != "" {
		did = append(did, "rewrites the URL to "+rule.GetHost()+rule.GetTarget())
	}
	if rule.GetRewritesLate() {
		did = append(did, "rewrites nothing, because a rule before it has rewritten the URL")
	}
	if rule.GetLacksPart() {
		did = append(did, "neither rewrites nor redirects, because the request lacks a part of the new URL")
	}
	if rule.GetChooses() {
		did = append(did, "chooses "+pool)
	}
	if rule.GetChoosesLate() {
		did = append(did, "chooses nothing, because a rule before it has chosen "+pool)
	}
	switch {
	case rule.GetLocation() != "":
		did = append(did, fmt.Sprintf("redirects to %s with %d", rule.GetLocation(), rule.GetStatus()))
	case rule.GetStatus() != 0:
		did = append(did, fmt.Sprintf("answers with %d", rule.GetStatus()))
	}
	if len(did) == 0 {
		return []string{"matches, and changes nothing"}
	}
	return did
}

// edits says what becomes of the head. Its verbs end with ending.
func edits(all []*dataplanev1.EditTold, ending string) (did []string) {
	for _, edit := range all[:min(len(all), namesShown)] {
		did = append(did, fmt.Sprintf("%s%s the %s %s", editKinds[edit.GetKind()], ending,
			edited(edit), edit.GetName()))
	}
	if more := len(all) - namesShown; more > 0 {
		did = append(did, fmt.Sprintf("make%s %d more edits", ending, more))
	}
	return did
}

func edited(edit *dataplanev1.EditTold) string {
	if edit.GetCookie() {
		return "cookie"
	}
	return "header"
}

var editKinds = map[dataplanev1.EditKind]string{
	dataplanev1.EditKind_EDIT_KIND_ADD:         "add",
	dataplanev1.EditKind_EDIT_KIND_REMOVE:      "remove",
	dataplanev1.EditKind_EDIT_KIND_REPLACE:     "replace",
	dataplanev1.EditKind_EDIT_KIND_UNSPECIFIED: "edit",
}

// joined is a list in a sentence.
func joined(all []string) string {
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	between := " and "
	if last > 1 || strings.Contains(all[0], ", ") {
		between = ", and "
	}
	return strings.Join(all[:last], ", ") + between + all[last]
}

// rules shows the rules that act.
func (t *teller) rules(page schema.Object, said *dataplanev1.Explanation) {
	told := said.GetRules()
	var acting []any
	chosenBy := ""
	for _, rule := range told.GetRequestRules() {
		shown := schema.Object{"policy_set": rule.GetPolicySet(), "name": rule.GetName()}
		show(shown, "edits", editsShown(rule.GetEdits()))
		if url := rewritten(rule.GetHost(), rule.GetTarget()); url != nil {
			shown["rewritten_to"] = url
		}
		if rule.GetChooses() {
			shown["chooses_pool"], chosenBy = true, "request_rule"
		}
		if rule.GetStatus() != 0 {
			shown["status"] = int64(rule.GetStatus())
		}
		if rule.GetLocation() != "" {
			shown["location"] = rule.GetLocation()
		}
		if rule.GetChooses() || rule.GetStatus() != 0 {
			page["request_rule"] = rule.GetName() // one that answers is the last
		}
		acting = append(acting, shown)
	}
	switch {
	case told.GetPoolByScript():
		chosenBy = "datascript"
	case told.GetPoolRule() != "":
		chosenBy = "pool_rule"
	}
	for field, name := range map[string]string{"network_security_rule": told.GetNetworkRule(),
		"pool_rule": told.GetPoolRule(), "pool_chosen_by": chosenBy} {
		if name != "" {
			page[field] = name
		}
	}
	show(page, "request_rules", acting)
	show(page, "datascript_edits", editsShown(told.GetScriptEdits()))
	if goesToServer(said) {
		if asked := rewritten(told.GetHost(), told.GetTarget()); asked != nil {
			page["server_request"] = asked
		}
	}
}

// show sets a field to a list that is not empty.
func show(on schema.Object, field string, list []any) {
	if len(list) > 0 {
		on[field] = list
	}
}

func editsShown(all []*dataplanev1.EditTold) (shown []any) {
	for _, edit := range all {
		shown = append(shown, schema.Object{"action": editKinds[edit.GetKind()], edited(edit): edit.GetName()})
	}
	return shown
}

// rewritten is a URL of which some parts are others; nil: none is.
func rewritten(host, target string) schema.Object {
	url := schema.Object{}
	if host != "" {
		url["host"] = host
	}
	if target != "" {
		url["target"] = target
	}
	if len(url) == 0 {
		return nil
	}
	return url
}
