package kinds

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// Role says what its users may read and write, in the tenants in which they have it.
type Role struct {
	Identity
	Named
	Owned
	Privileges []Permission `json:"privileges" items:"200"`
}

func init() {
	schema.Register[Role](schema.Definition{
		Columns: []column.Column{
			column.Of("WRITES", func(r column.Row) string { return countPrivileges(r, schema.WriteAccess) }),
			column.Of("READS", func(r column.Row) string { return countPrivileges(r, schema.ReadAccess) }),
		},
		Example: `  weir role create pools privileges[0].resource=PERMISSION_POOL privileges[0].type=WRITE_ACCESS`,
		Builtins: []schema.Object{
			{"name": "System-Admin", "privileges": permissions(everything(schema.WriteAccess))},
			{"name": "Tenant-Admin", "privileges": permissions("WRITE_ACCESS: USER ROLE",
				"WRITE_ACCESS: "+ofApplications,
				"WRITE_ACCESS: "+ofSecurity, "WRITE_ACCESS: "+ofFirewalls,
				"WRITE_ACCESS: "+ofOperation, "READ_ACCESS: "+ofInfrastructure, "READ_ACCESS: "+ofSystem)},
			{"name": "Application-Admin", "privileges": permissions("WRITE_ACCESS: "+ofApplications,
				"WRITE_ACCESS: "+ofSecurity, "WRITE_ACCESS: "+ofFirewalls, "WRITE_ACCESS: "+ofOperation,
				"READ_ACCESS: "+ofInfrastructure, "READ_ACCESS: "+ofSystem)},
			{"name": "Application-Operator", "privileges": permissions("READ_ACCESS: "+ofApplications,
				"READ_ACCESS: "+ofSecurity, "READ_ACCESS: "+ofFirewalls, "READ_ACCESS: "+ofOperation,
				"READ_ACCESS: "+ofInfrastructure, "READ_ACCESS: "+ofSystem)},
			{"name": "Security-Admin", "privileges": permissions("WRITE_ACCESS: "+ofSecurity,
				"WRITE_ACCESS: "+ofFirewalls, "READ_ACCESS: "+ofApplications, "READ_ACCESS: "+ofOperation,
				"READ_ACCESS: "+ofInfrastructure, "READ_ACCESS: "+ofSystem)},
			{"name": "WAF-Admin", "privileges": permissions("WRITE_ACCESS: "+ofFirewalls,
				"READ_ACCESS: "+ofApplications, "READ_ACCESS: "+ofSecurity, "READ_ACCESS: "+ofOperation)},
		},
		Kept: []schema.Rule{
			schema.Refuses("roles of Weir open all objects of a resource, whatever their labels",
				"filters allow_unlabelled_access"),
			schema.Refuses("roles of Weir open objects with all of their fields", "privileges.subresource"),
		},
	})
}

func countPrivileges(r column.Row, access string) string {
	count := 0
	for _, item := range column.List(r.Object, "privileges") {
		if column.At(item, "type") == access {
			count++
		}
	}
	return fmt.Sprint(count)
}

// Idle finds the permissions that open nothing, since Weir has no use for their resources. It names the first few.
func (r *Role) Idle() []schema.Kept {
	const named = 5
	first, open := 0, []string(nil)
	for i, one := range r.Privileges {
		kinds, beside := schema.Opens(one.Resource)
		if len(kinds) > 0 || beside != "" || one.Type == schema.NoAccess {
			continue
		}
		if open == nil {
			first = i
		}
		open = append(open, one.Resource)
	}
	if open == nil {
		return nil
	}
	said := strings.Join(open[:min(named, len(open))], ", ")
	if more := len(open) - named; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return []schema.Kept{{Field: fmt.Sprintf("privileges[%d].resource", first),
		Why: "/api/weir/permission lists what opens something in Weir, and not " + said + ": has no effect"}}
}

// Validate refuses two permissions for one resource: it would not be clear which of them counts.
func (r *Role) Validate() *schema.FieldError {
	seen := map[string]bool{}
	for i, one := range r.Privileges {
		if seen[one.Resource] {
			return &schema.FieldError{Field: fmt.Sprintf("privileges[%d].resource", i),
				Problem: one.Resource + " has a permission already: leave one of them out"}
		}
		seen[one.Resource] = true
	}
	return nil
}
