package kinds

import (
	"net/url"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// Webhook is an address that alerts are sent to with HTTP.
type Webhook struct {
	Identity
	Named
	Owned
	Description string   `json:"description"`
	Markers     []Marker `json:"markers"`
	CallbackURL string   `json:"callback_url" required:"true"`
	Token       string   `json:"verification_token" secret:"true" required:"true"` // signs what is sent
	// empty: the authorities of the machine
	PKIProfileRef string `json:"weir_pki_profile_ref" ref:"pkiprofile"`
}

// Reveals: alerts are sent there.
func (*Webhook) Reveals() []string { return []string{schema.EventResource} }

func init() {
	schema.Register[Webhook](schema.Definition{
		Permission: "PERMISSION_ACTIONGROUPCONFIG",
		Columns:    []column.Column{column.Field("URL", "callback_url")},
		Example:    `  weir webhook create pager callback_url=https://pager.example.com/weir verification_token=…`,
	})
}

// tokenLeast keeps tokens from being guessed from a signature.
const tokenLeast = 16

func (w *Webhook) Validate() *schema.FieldError {
	to, err := url.Parse(w.CallbackURL)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Hostname() == "" || to.User != nil {
		return &schema.FieldError{Field: "callback_url",
			Problem: schema.Show(w.CallbackURL) + " is no URL to send to: give https://HOST/PATH, without a user"}
	}
	if len(w.Token) < tokenLeast && w.Token != schema.Sensitive {
		return &schema.FieldError{Field: "verification_token",
			Problem: "is shorter than 16 bytes: it signs what is sent"}
	}
	return nil
}
