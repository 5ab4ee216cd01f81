package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// outlined is what a program that makes forms reads of a field.
type outlined struct {
	Name, Type, Ref, Effect, Why     string
	Default                          any
	Min, Max, Also, Most             *int64
	Enum                             []string
	Required, Secret, Computed, Kept bool
	Element                          *outlined
	Fields                           []outlined
}

func outlineOf(t *testing.T, kind string) map[string]outlined {
	t.Helper()
	known, ok := schema.Lookup(kind)
	if !ok {
		t.Fatalf("there is no kind %s", kind)
	}
	var fields []outlined
	if err := json.Unmarshal(schema.AppendJSON(nil, known.Outline()), &fields); err != nil {
		t.Fatal(err)
	}
	byName := map[string]outlined{}
	for _, f := range fields {
		byName[f.Name] = f
	}
	return byName
}

func TestOutlineSaysWhatTheTagsSay(t *testing.T) {
	pool := outlineOf(t, "pool")
	if f := pool["name"]; f.Type != "string" || !f.Required {
		t.Errorf("name is %+v", f)
	}
	port := pool["default_server_port"]
	if port.Type != "integer" || *port.Min != 1 || *port.Max != 65535 || port.Default != float64(80) {
		t.Errorf("default_server_port is %+v", port)
	}
	monitors := pool["health_monitor_refs"]
	if monitors.Type != "list" || *monitors.Most != 50 || monitors.Element.Ref != "healthmonitor" {
		t.Errorf("health_monitor_refs is %+v", monitors)
	}
	if f := pool["lb_algorithm"]; len(f.Enum) < 5 || f.Default != "LB_ALGORITHM_LEAST_CONNECTIONS" {
		t.Errorf("lb_algorithm is %+v", f)
	}
	if f := pool["cloud_ref"]; f.Default != "/api/cloud?name=Default-Cloud" || f.Ref != "cloud" {
		t.Errorf("cloud_ref is %+v", f)
	}
	server := map[string]outlined{}
	for _, f := range pool["servers"].Element.Fields {
		server[f.Name] = f
	}
	if !server["ip"].Required || *server["port"].Also != 0 {
		t.Errorf("servers are %+v", server)
	}
}

func TestOutlineTellsSecretsComputedFieldsAndThoseWithoutFunction(t *testing.T) {
	if f := outlineOf(t, "user")["password"]; !f.Secret {
		t.Errorf("password is %+v", f)
	}
	if f := outlineOf(t, "user")["access"]; f.Effect != "" {
		t.Errorf("access is %+v", f)
	}
	vs := outlineOf(t, "virtualservice")
	if f := vs["waf_policy_ref"]; f.Effect != "closes" || !f.Kept || f.Why == "" {
		t.Errorf("waf_policy_ref is %+v", f)
	}
	if f := vs["url"]; !f.Computed {
		t.Errorf("url is %+v", f)
	}
	system := outlineOf(t, "systemconfiguration")
	if f := system["fips_mode"]; f.Effect != "none" || f.Kept {
		t.Errorf("fips_mode is %+v", f)
	}
}

func TestEveryKindHasAnOutlineThatEnds(t *testing.T) {
	for _, kind := range schema.Kinds() {
		const most = 1 << 20
		if text := schema.AppendJSON(nil, kind.Outline()); len(text) > most {
			t.Errorf("the outline of %s has %d bytes", kind.Name, len(text))
		}
	}
}
