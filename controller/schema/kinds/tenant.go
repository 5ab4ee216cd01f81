package kinds

import "github.com/weir-lb/weir/controller/schema"

// Tenant owns objects and hides them from other tenants.
type Tenant struct {
	Identity
	Named
	Description       string        `json:"description"`
	CreatedBy         string        `json:"created_by"`
	Local             bool          `json:"local" default:"true"`
	EnforceLabelGroup bool          `json:"enforce_label_group" default:"false"`
	Attributes        []KeyValue    `json:"attrs"`
	ConfigSettings    *TenantConfig `json:"config_settings" default:"{}"`
}

func init() {
	schema.Register[Tenant](schema.Definition{
		Builtins: []schema.Object{{"name": "admin", "uuid": "admin"}},
		Kept: []schema.Rule{
			schema.NoEffect("Weir does not compare labels with groups of labels", "label_group_refs"),
		},
		Unread: []schema.Rule{
			schema.NoEffect("Weir does not compare labels with groups of labels", "enforce_label_group"),
		},
	})
}

// TenantConfig says what a tenant has for itself.
type TenantConfig struct {
	TenantVrf           bool `json:"tenant_vrf" default:"false"`
	SEInProviderContext bool `json:"se_in_provider_context" default:"true"`
	AccessToProviderSE  bool `json:"tenant_access_to_provider_se" default:"true"`
}
