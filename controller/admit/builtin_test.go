package admit

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// alter changes the store without the gate, as an earlier version could.
func (g *Gate) alter(t *testing.T, change func(tx *store.Tx)) {
	t.Helper()
	err := g.store.Update(t.Context(), func(tx *store.Tx) error {
		change(tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rename renames a stored object without the gate.
func (g *Gate) rename(t *testing.T, kind, uuid, name string) {
	t.Helper()
	g.alter(t, func(tx *store.Tx) {
		stored, ok := tx.View().Get(kind, uuid)
		if !ok {
			t.Fatalf("there is no %s %s", kind, uuid)
		}
		next := *stored
		next.Name, next.Object = name, schema.Clone(stored.Object)
		next.Object["name"] = name
		tx.Put(&next)
	})
}

// changeName asks the gate to rename an object.
func (g *Gate) changeName(t *testing.T, kind, uuid, name string) error {
	t.Helper()
	_, err := g.Change(t.Context(), g.by(t, kind), uuid, func(o schema.Object) (schema.Object, error) {
		o["name"] = name
		return o, nil
	})
	return err
}

var builtIns = map[string]string{"user": "admin", "tenant": "admin", "applicationprofile": "System-HTTP",
	"serviceenginegroup": "Default-Group"}

func TestBuiltInObjectsKeepTheirNames(t *testing.T) {
	gate := openGate(t)
	for kind, name := range builtIns {
		uuid := schema.BuiltinUUID(kind, name)
		if err := gate.changeName(t, kind, uuid, "mine"); err == nil ||
			!strings.Contains(err.Error(), name+" is a system default object and cannot be renamed") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err := gate.Change(t.Context(), gate.by(t, userKind), "user-1", func(o schema.Object) (schema.Object, error) {
		o["username"] = "root"
		return o, nil
	})
	if err == nil || !strings.Contains(err.Error(), "username") {
		t.Errorf("another name to log in with: %v", err)
	}
}

func TestBuiltInObjectsThatWereRenamedBeforeStayAndAreFound(t *testing.T) {
	gate := openGate(t)
	for kind, name := range builtIns {
		uuid := schema.BuiltinUUID(kind, name)
		gate.rename(t, kind, uuid, "mine")
		if err := gate.Delete(t.Context(), gate.by(t, kind), uuid); err == nil ||
			!strings.Contains(err.Error(), "cannot be deleted") {
			t.Errorf("%s is deleted: %v", kind, err)
		}
		if err := gate.changeName(t, kind, uuid, "mine"); err != nil {
			t.Errorf("%s may not keep its name: %v", kind, err)
		}
		found, err := lookUp(gate.store.View(), schema.RefTarget{Kind: kind, Name: name},
			Tenant{UUID: AdminTenant}, everything)
		if err != nil || found.UUID != uuid {
			t.Errorf("%s %s is not found: %v", kind, name, err)
		}
	}
	who, _ := principalOf(gate.store.View(), "user-1", "")
	if tenant, err := TenantOf(gate.store.View(), who, "admin", ""); err != nil || tenant.UUID != AdminTenant {
		t.Errorf("tenant admin is not found: %v", err)
	}
	for kind, name := range builtIns {
		if err := gate.changeName(t, kind, schema.BuiltinUUID(kind, name), name); err != nil {
			t.Errorf("%s may not have its own name: %v", kind, err)
		}
	}
}

func TestOwnObjectWithTheNameOfABuiltInOneIsDeleted(t *testing.T) {
	gate := openGate(t)
	if _, err := gate.Create(t.Context(), gate.by(t, tenantKind), schema.Object{"name": "blue"}, "blue"); err != nil {
		t.Fatal(err)
	}
	profiles := gate.by(t, "applicationprofile")
	profiles.Tenant = Tenant{UUID: "blue", Name: "blue"}
	own, err := gate.Create(t.Context(), profiles, schema.Object{"name": "System-HTTP",
		"type": "APPLICATION_PROFILE_TYPE_HTTP"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Delete(t.Context(), profiles, own.UUID); err != nil {
		t.Error(err)
	}
}

func TestBuiltInObjectThatWasDeletedComesBackBesideWhoHasItsName(t *testing.T) {
	gate := openGate(t)
	gate.alter(t, func(tx *store.Tx) {
		for kind, name := range map[string]string{"applicationprofile": "System-HTTP", userKind: "admin"} {
			uuid := schema.BuiltinUUID(kind, name)
			stored, _ := tx.View().Get(kind, uuid)
			tx.Delete(kind, uuid)
			impostor := *stored
			impostor.UUID, impostor.Object = kind+"-2", schema.Clone(stored.Object)
			impostor.Object["uuid"] = impostor.UUID
			tx.Put(&impostor)
		}
	})
	if err := gate.Bootstrap(t.Context(), secondPassword); err != nil {
		t.Fatal(err)
	}
	view := gate.store.View()
	if own, ok := view.ByName("applicationprofile", AdminTenant, "System-HTTP"); !ok ||
		own.UUID != "applicationprofile-2" {
		t.Errorf("System-HTTP is %v", own)
	}
	uuid := schema.BuiltinUUID("applicationprofile", "System-HTTP")
	if made, ok := view.Get("applicationprofile", uuid); !ok || made.Name != "System-HTTP-"+uuid {
		t.Errorf("the built-in one is %v", made)
	}
	if _, _, err := gate.Login(t.Context(), Credentials{Username: "admin-user-1", Password: secondPassword},
		""); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}
