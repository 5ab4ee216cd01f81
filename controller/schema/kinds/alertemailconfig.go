package kinds

import (
	"net/mail"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// AlertEmailConfig is who gets mail about alerts. The mail server is in the system configuration.
type AlertEmailConfig struct {
	Identity
	Named
	Owned
	Description string `json:"description"`
	To          string `json:"to_emails" required:"true"` // "a@example.com, Jo <jo@example.com>"
	CC          string `json:"cc_emails"`
}

// Reveals: alerts are sent there.
func (*AlertEmailConfig) Reveals() []string { return []string{schema.EventResource} }

func init() {
	schema.Register[AlertEmailConfig](schema.Definition{
		Columns: []column.Column{column.Field("TO", "to_emails"), column.Field("CC", "cc_emails")},
		Example: `  weir alertemailconfig create ops to_emails=ops@example.com`,
	})
}

func (c *AlertEmailConfig) Validate() *schema.FieldError {
	for field, list := range map[string]string{"to_emails": c.To, "cc_emails": c.CC} {
		if list == "" && field != "to_emails" {
			continue
		}
		if _, err := mail.ParseAddressList(list); err != nil {
			return &schema.FieldError{Field: field,
				Problem: schema.Show(list) + " is no list of mail addresses: give them with commas between them"}
		}
	}
	return nil
}
