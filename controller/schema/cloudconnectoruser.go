package schema

// CloudConnectorUser is who the controller is on the hosts of a cloud: its name is the user to log in as.
type CloudConnectorUser struct {
	Identity
	Named
	Owned
	PrivateKey string `json:"private_key" secret:"true"` // PEM, of SSH
	PublicKey  string `json:"public_key"`
	Password   string `json:"password" secret:"true"`
}

func (u *CloudConnectorUser) check() *FieldError {
	if u.PrivateKey == "" && u.Password == "" {
		return &FieldError{Field: "private_key", Problem: "is empty, and so is password: give one of them"}
	}
	return nil
}
