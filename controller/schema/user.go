package schema

// User may log in.
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

// UserAccess lets a user into a tenant.
type UserAccess struct {
	TenantRef  string `json:"tenant_ref" ref:"tenant"`
	AllTenants bool   `json:"all_tenants" default:"false"`
}

// fillUser takes the name of a user as the name to log in with, or the other way round.
func fillUser(o Object) {
	for _, pair := range [][2]string{{"username", "name"}, {"name", "username"}} {
		if _, ok := o[pair[0]]; ok {
			continue
		}
		if other, ok := o[pair[1]]; ok {
			o[pair[0]] = other
		}
	}
}

func (u *User) check() *FieldError {
	if u.Username == "" {
		return &FieldError{Field: "username", Problem: "is required"}
	}
	return nil
}
