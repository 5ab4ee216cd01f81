package controller

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestWritersAreToldOfGroupsWithPortsThatClientsAreComparedWith(t *testing.T) {
	objects := emptyStore(t)
	farm := schema.Object{"ip_ports": []any{schema.Object{"port": 80,
		"ip": schema.Object{"addr": "10.0.0.1", "type": "V4"}}}}
	compares := func(group string) schema.Object {
		return schema.Object{"rules": []any{schema.Object{"name": "a", "index": 1, "enable": true,
			"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY", "match": schema.Object{"client_ip": schema.Object{
				"match_criteria": "IS_IN", "group_refs": []any{"/api/ipaddrgroup/" + group}}}}}}
	}
	farms := schema.Object{"ipaddrgroup_ref": "/api/ipaddrgroup/farm"}
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "ipaddrgroup", "farm", farm)
		put(tx, "ipaddrgroup", "office", schema.Object{"addrs": []any{}})
		put(tx, "pool", "farms", farms)
		return nil
	}))
	told := func(kind string, object schema.Object) (said string) {
		for _, warning := range ruleFaults(kind, object, objects.View()) {
			said += warning.Field + ": " + warning.Message
		}
		return said
	}
	for _, quiet := range []string{told("ipaddrgroup", farm), told("pool", farms),
		told("networksecuritypolicy", compares("office"))} {
		if quiet != "" {
			t.Error(quiet)
		}
	}
	policy := compares("farm")
	if said := told("networksecuritypolicy", policy); !strings.HasPrefix(said,
		"rules[0].match.client_ip.group_refs[0]: farm has ip_ports") {
		t.Errorf("got %q", said)
	}
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "networksecuritypolicy", "policy", policy)
		return nil
	}))
	if said := told("ipaddrgroup", farm); !strings.Contains(said,
		"an object of networksecuritypolicy compares clients") {
		t.Errorf("got %q", said)
	}
}
