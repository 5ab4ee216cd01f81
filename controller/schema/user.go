package schema

// User may log in.
type User struct {
	Identity
	Named
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

// UserAccess lets a user into a tenant.
type UserAccess struct {
	TenantRef  string `json:"tenant_ref" ref:"tenant"`
	AllTenants bool   `json:"all_tenants" default:"false"`
}

// fillUser takes the name of the user as the name to log in with.
func fillUser(o Object) {
	if _, ok := o["username"]; !ok {
		o["username"] = o["name"]
	}
}
