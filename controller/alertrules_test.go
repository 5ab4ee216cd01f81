package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/schema"
)

// logRules is a gate to which a test sends rules on logs.
type logRules struct {
	*testing.T
	gate *admit.Gate
}

func (r logRules) by(tenant string) admit.Write {
	return admit.Write{Who: admin(), Tenant: admit.Tenant{UUID: tenant}, Kind: kindNamed(ruleKind)}
}

func (r logRules) wants(err error, want string) {
	r.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		r.Errorf("got %v, want %q", err, want)
	}
}

func (r logRules) create(tenant, name, filter string) error {
	_, err := r.gate.Create(r.Context(), r.by(tenant), schema.Object{"name": name, "source": "APP_LOGS",
		"alert_rule": schema.Object{"conn_app_log_rule": schema.Object{"filter_string": filter}}}, "alertconfig-"+name)
	return err
}

// set changes fields of a rule in the tenant admin.
func (r logRules) set(name, field string, value any) error {
	_, err := r.gate.Change(r.Context(), r.by(admit.AdminTenant), "alertconfig-"+name,
		func(o schema.Object) (schema.Object, error) {
			o[field] = value
			return o, nil
		})
	return err
}

func newLogRules(t *testing.T) logRules {
	gate, _ := openGate(t)
	gate.Check(ruleKind, checkRules(Config{Records: RecordStore{Program: "weir"}}, nil))
	return logRules{t, gate}
}

func TestRulesOnLogsThatCouldNeverFitAreRefused(t *testing.T) {
	r := newLogRules(t)
	for filter, want := range map[string]string{
		"ge(response_code,500)": "", "ge(response_cod,500)": `no field "response_cod"`,
		"response_code=500": "write it as op(field,value)", "ge(rx_bytes,500)": "no field",
	} {
		r.wants(r.create("admin", fmt.Sprint("rule-", len(filter)), filter), want)
	}
}

func TestRulesOnLogsHaveALimitInEachTenant(t *testing.T) {
	r := newLogRules(t)
	tenant := admit.Write{Who: admin(), Tenant: admit.Tenant{UUID: admit.AdminTenant}, Kind: kindNamed("tenant")}
	if _, err := r.gate.Create(t.Context(), tenant, schema.Object{"name": "blue"}, "tenant-blue"); err != nil {
		t.Fatal(err)
	}
	const filter = "ge(response_code,500)"
	for i := range alert.LogRulesMost {
		r.wants(r.create("admin", fmt.Sprint("rule-", i), filter), "")
	}
	r.wants(r.create("admin", "more", filter), "has 100 rules on logs")
	r.wants(r.create("tenant-blue", "blue", filter), "")
	r.wants(r.set("rule-1", "enabled", false), "")
	r.wants(r.create("admin", "more", filter), "")
	r.wants(r.set("rule-1", "enabled", true), "has 100 rules on logs")
}

func TestRulesOnLogsThatStandCanBeSilencedAndDisabled(t *testing.T) {
	r := newLogRules(t)
	r.wants(r.create("admin", "old", "ge(response_code,500)"), "")
	r.gate.Check(ruleKind, checkRules(Config{}, nil))
	r.wants(r.create("admin", "new", "ge(response_code,500)"), "--logs memory")
	silence := schema.Object{"until": "2126-11-26T12:00:00Z", "why": "x", "by": "y"}
	r.wants(r.set("old", "weir_silences", []any{silence}), "")
	r.wants(r.set("old", "source", "CONN_LOGS"), "--logs memory")
	r.wants(r.set("old", "enabled", false), "")
	r.wants(r.set("old", "enabled", true), "--logs memory")
}

func kindNamed(name string) *schema.Kind {
	kind, _ := schema.Lookup(name)
	return kind
}
