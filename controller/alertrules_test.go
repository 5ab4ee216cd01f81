package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/schema"
)

func TestRulesOnLogsThatCouldNeverFitAreRefused(t *testing.T) {
	gate, objects := openGate(t)
	config := Config{Records: RecordStore{Program: "weir"}}
	check := checkRules(config, nil, objects)
	rule := func(filter string) schema.Object {
		return schema.Object{"name": "new", "uuid": "new", "source": "APP_LOGS",
			"alert_rule": schema.Object{"conn_app_log_rule": schema.Object{"filter_string": filter}}}
	}
	wants := func(filter, want string) {
		t.Helper()
		problem := check(rule(filter))
		if want == "" && problem != nil || want != "" && (problem == nil || !strings.Contains(problem.Error(), want)) {
			t.Errorf("%s: got %v, want %q", filter, problem, want)
		}
	}
	wants("ge(response_code,500)", "")
	wants("ge(response_cod,500)", `no field "response_cod"`)
	wants("response_code=500", "write it as op(field,value)")
	wants("ge(rx_bytes,500)", "no field")
	for i := range alert.LogRulesMost {
		by := admit.Write{Who: admin(), Tenant: admit.Tenant{UUID: admit.AdminTenant}, Kind: kindNamed(ruleKind)}
		sent := rule("ge(response_code,500)")
		delete(sent, "uuid")
		sent["name"] = fmt.Sprint("rule-", i)
		if _, err := gate.Create(t.Context(), by, sent, fmt.Sprint("alertconfig-", i)); err != nil {
			t.Fatal(err)
		}
	}
	wants("ge(response_code,500)", "there are 100 rules")
	config.Records.Program = ""
	check = checkRules(config, nil, objects)
	wants("ge(response_code,500)", "--logs memory")
}

func kindNamed(name string) *schema.Kind {
	kind, _ := schema.Lookup(name)
	return kind
}
