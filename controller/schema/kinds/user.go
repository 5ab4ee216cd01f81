package kinds

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// User is an account that can log in.
type User struct {
	Identity
	Name             string       `json:"name"`
	Username         string       `json:"username"`
	FullName         string       `json:"full_name"`
	Email            string       `json:"email"`
	Password         string       `json:"password" secret:"true"`
	IsSuperuser      bool         `json:"is_superuser" default:"false"`
	IsActive         bool         `json:"is_active" default:"true"`
	Local            bool         `json:"local" default:"true"`
	DefaultTenantRef string       `json:"default_tenant_ref" ref:"tenant" default:"admin"`
	Access           []UserAccess `json:"access" items:"1000"`
	UIProperty       string       `json:"ui_property"`
}

func init() {
	schema.Register[User](schema.Definition{
		Sealed:   true,
		FilledBy: fillUser,
		Columns: []column.Column{
			column.Field("FULL NAME", "full_name"),
			column.Field("SUPERUSER", "is_superuser"),
			column.Of("ROLES", rolesOf),
			column.Field("ACTIVE", "is_active"),
		},
		Example: `  weir user create alice full_name="Alice Smith" password=… is_superuser=true`,
		Builtins: []schema.Object{{
			"name": "admin", "uuid": "user-1", "full_name": "System Administrator", "email": "", "is_superuser": true,
			"access": []any{schema.Object{"tenant_ref": "/api/tenant/admin", "all_tenants": true,
				"role_ref": "/api/role?name=System-Admin"}},
		}},
		Kept: []schema.Rule{
			schema.NoEffect(noLogin, ""),
		},
	})
}

// UserAccess gives a user a role in a tenant, or in all. Without a role, the user reads what is there, except users and
// the audit trail.
type UserAccess struct {
	RoleRef    string `json:"role_ref" ref:"role"`
	TenantRef  string `json:"tenant_ref" ref:"tenant"`
	AllTenants bool   `json:"all_tenants" default:"false"`
}

// rolesOf lists the roles of a user: "Tenant-Admin in blue, Application-Operator everywhere".
func rolesOf(r column.Row) string {
	var roles []string
	for _, item := range column.List(r.Object, "access") {
		where := "everywhere"
		if column.At(item, "all_tenants") != true {
			where = "in " + column.Text(column.At(item, "tenant_ref"))
		}
		role := column.Text(column.At(item, "role_ref"))
		if role == "" {
			role = "reader"
		}
		roles = append(roles, role+" "+where)
	}
	return strings.Join(roles, ", ")
}

// fillUser copies name to username if that is absent, or username to name.
func fillUser(o schema.Object) {
	for _, pair := range [][2]string{{"username", "name"}, {"name", "username"}} {
		if _, ok := o[pair[0]]; ok {
			continue
		}
		if other, ok := o[pair[1]]; ok {
			o[pair[0]] = other
		}
	}
}

func (u *User) Validate() *schema.FieldError {
	if u.Username == "" {
		return &schema.FieldError{Field: "username", Problem: "is required"}
	}
	return nil
}
