package kinds

import "github.com/weir-lb/weir/controller/schema"

// AlertScriptConfig is a script that Avi's controller runs at an alert. Weir refuses it.
type AlertScriptConfig struct {
	Identity
	Named
	Owned
	Script   string `json:"action_script"`
	TimeoutS uint32 `json:"timeout"`
}

func init() {
	schema.Register[AlertScriptConfig](schema.Definition{Permission: "PERMISSION_ACTIONGROUPCONFIG"})
}

// Validate refuses every script: the controller has the keys of all services, and code of others could take them.
func (*AlertScriptConfig) Validate() *schema.FieldError {
	return &schema.FieldError{Field: "action_script",
		Problem: "the controller runs no code of others: send the alert to a program of yours by a webhook"}
}
