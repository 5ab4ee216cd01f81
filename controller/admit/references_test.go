package admit

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestObjectKeepsItsReferenceToAnotherTenantAndGetsNoNewOne(t *testing.T) {
	gate := openGate(t)
	err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
		for _, made := range []struct {
			kind, uuid string
			object     schema.Object
		}{
			{tenantKind, "tenant-blue", schema.Object{"name": "blue"}},
			{"serviceenginegroup", "group-1", schema.Object{"name": "one", "tenant_ref": "/api/tenant/tenant-blue"}},
			{"serviceenginegroup", "group-2", schema.Object{"name": "two", "tenant_ref": "/api/tenant/tenant-blue"}},
			{"serviceengine", "se-1", schema.Object{"name": "edge", "se_group_ref": "/api/serviceenginegroup/group-1"}},
		} {
			if _, err := tx.Create(made.kind, made.object, made.uuid); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set := func(field, value string) error {
		_, err := gate.Change(t.Context(), gate.by(t, "serviceengine"), "se-1",
			func(o schema.Object) (schema.Object, error) {
				o[field] = value
				return o, nil
			})
		return err
	}
	if err := set("enable_state", "SE_STATE_DISABLED"); err != nil {
		t.Errorf("disabled: %v", err)
	}
	if err := set("se_group_ref", "/api/serviceenginegroup/group-2"); err == nil ||
		!strings.Contains(err.Error(), "se_group_ref") {
		t.Errorf("moved to another group of the tenant: %v", err)
	}
}
