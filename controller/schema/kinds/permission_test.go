package kinds

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestEveryKindBelongsToAResourceOfRoles(t *testing.T) {
	for _, kind := range schema.Kinds() {
		if !schema.IsResource(kind.Permission) {
			t.Errorf("%s has the permission %q, which is no resource: say one in its definition", kind.Name,
				kind.Permission)
		}
	}
	if kind := kindOf(t, "pool"); kind.Permission != "PERMISSION_POOL" {
		t.Errorf("pools are of %s", kind.Permission)
	}
}

func TestDocumentsListTheResourcesThatOpenSomething(t *testing.T) {
	page, err := os.ReadFile("../../../docs/roles.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "These act in Weir")
	list, _, _ = strings.Cut(list, "All others open nothing")
	for _, resource := range schema.Resources {
		kinds, beside := schema.Opens(resource)
		listed := strings.Contains(list, "`"+strings.TrimPrefix(resource, "PERMISSION_")+"`")
		if acts := len(kinds) > 0 || beside != ""; acts != listed {
			t.Errorf("%s opens %v and %q; docs/roles.md lists it: %t", resource, kinds, beside, listed)
		}
	}
}

func privilegesOf(t *testing.T, role string) map[string]string {
	t.Helper()
	for _, b := range schema.Builtins() {
		if b.Kind.Name != "role" || b.Object["name"] != role {
			continue
		}
		typed, err := schema.Into[Role](b.Object)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, one := range typed.Privileges {
			all[one.Resource] = one.Type
		}
		if len(all) != len(schema.Resources) || len(typed.Privileges) != len(schema.Resources) {
			t.Errorf("%s lists %d resources, and there are %d", role, len(typed.Privileges), len(schema.Resources))
		}
		return all
	}
	t.Fatalf("there is no role %s", role)
	return nil
}

func TestBuiltInRolesAllowWhatTheirNamesSay(t *testing.T) {
	for resource, access := range privilegesOf(t, "System-Admin") {
		if access != schema.WriteAccess {
			t.Errorf("System-Admin has %s to %s", access, resource)
		}
	}
	for role, wants := range map[string][4]string{ // virtual services, certificates, users, engines
		"Tenant-Admin":         {schema.WriteAccess, schema.WriteAccess, schema.WriteAccess, schema.ReadAccess},
		"Application-Admin":    {schema.WriteAccess, schema.WriteAccess, schema.NoAccess, schema.ReadAccess},
		"Application-Operator": {schema.ReadAccess, schema.ReadAccess, schema.NoAccess, schema.ReadAccess},
		"Security-Admin":       {schema.ReadAccess, schema.WriteAccess, schema.NoAccess, schema.ReadAccess},
		"WAF-Admin":            {schema.ReadAccess, schema.ReadAccess, schema.NoAccess, schema.NoAccess},
	} {
		has := privilegesOf(t, role)
		for i, resource := range []string{"VIRTUALSERVICE", "SSLKEYANDCERTIFICATE", "USER", "SERVICEENGINE"} {
			if got := has["PERMISSION_"+resource]; got != wants[i] {
				t.Errorf("%s has %s to %s, want %s", role, got, resource, wants[i])
			}
		}
		for _, resource := range []string{"REBOOT", "UPGRADE", "SE_TOKEN", "USER_CREDENTIAL", "SYSTEMREPORT"} {
			if got := has["PERMISSION_"+resource]; got != schema.NoAccess {
				t.Errorf("%s has %s to %s", role, got, resource)
			}
		}
		for _, resource := range []string{"SYSTEMCONFIGURATION", "CLOUD", "TENANT", "CONTROLLER"} {
			if has["PERMISSION_"+resource] == schema.WriteAccess {
				t.Errorf("%s writes %s", role, resource)
			}
		}
	}
}

func TestRoleIsRefusedForWhatItWouldNotDo(t *testing.T) {
	pool := `{"resource":"PERMISSION_POOL","type":"READ_ACCESS"`
	for body, want := range map[string]string{
		`{"name":"r","privileges":[` + pool + `},` + pool +
			`}]}`: "PERMISSION_POOL has a permission already: leave one of " +
			"them out",
		`{"name":"r","privileges":[{"resource":"PERMISSION_SOUP","type":"READ_ACCESS"}]}`: "",
		`{"name":"r","privileges":[{"resource":"PERMISSION_POOL","type":"SOME_ACCESS"}]}`: "",
		`{"name":"r","privileges":[` + pool +
			`,"subresource":{"subresources":["SUBRESOURCE_POOL_ENABLED"]}}]}`: "roles of " +
			"Weir open objects with all of their fields: remove it",
		`{"name":"r","allow_unlabelled_access":false}`: "roles of Weir open all objects of a resource, whatever their " +
			"labels: remove it",
		`{"name":"r","filters":[{"match_label":{"key":"app"}}]}`: "roles of Weir open all objects of a resource, whatever " +
			"their labels: remove it",
	} {
		kind := kindOf(t, "role")
		object, err := kind.Decode([]byte(body))
		if err == nil {
			kind.Fill(object)
			err = kind.Check(object)
		}
		problem, is := err.(*schema.FieldError)
		if !is || want != "" && problem.Problem != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	if !slices.Contains(schema.Resources, "PERMISSION_SYSTEMREPORT") {
		t.Error("the resources end too early")
	}
}
