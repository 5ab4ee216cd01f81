package kinds

import "github.com/weir-lb/weir/controller/schema"

// CloudConnectorUser is the account with which the controller logs in to the hosts of a cloud. Its name is the name of
// the user there.
type CloudConnectorUser struct {
	Identity
	Named
	Owned
	PrivateKey string `json:"private_key" secret:"true"` // SSH key, PEM
	PublicKey  string `json:"public_key"`
	Password   string `json:"password" secret:"true"`
}

func init() {
	schema.Register[CloudConnectorUser](schema.Definition{
		Permission: "PERMISSION_USER_CREDENTIAL",
		Kept: []schema.Rule{
			schema.NoEffect(noCloud, "azure_* gcp_* nsxt_* oci_* tencent_* vcenter_*"),
		},
	})
}

func (u *CloudConnectorUser) Validate() *schema.FieldError {
	if u.PrivateKey == "" && u.Password == "" {
		return &schema.FieldError{Field: "private_key", Problem: "is empty, and so is password: give one of them"}
	}
	return nil
}
