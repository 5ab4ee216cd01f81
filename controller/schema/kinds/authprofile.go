package kinds

import "github.com/weir-lb/weir/controller/schema"

// AuthProfile says by what clients are known.
type AuthProfile struct {
	Identity
	Named
	Owned
	Markers []Marker `json:"markers"`
	Type    string   `json:"type" enum:"AuthProfileType" required:"true"`
	JWTRef  string   `json:"jwt_profile_ref" ref:"jwtserverprofile"`
}

const jwtAuth = "AUTH_PROFILE_JWT"

var _ = schema.Enum("AuthProfileType", "AUTH_PROFILE_LDAP", "AUTH_PROFILE_TACACS_PLUS", "AUTH_PROFILE_SAML",
	"AUTH_PROFILE_PINGACCESS", jwtAuth, "AUTH_PROFILE_OAUTH")

func init() {
	schema.Register[AuthProfile](schema.Definition{
		Serving: schema.PartOfService,
		Example: `  weir authprofile create tokens type=AUTH_PROFILE_JWT jwt_profile_ref=login`,
		Kept: []schema.Rule{
			schema.Closes("engines authenticate clients by tokens only yet",
				"ldap http saml oauth_profile pa_agent_ref tacacs_plus"),
			schema.NoEffect(computed, ""),
		},
	})
}

func (p *AuthProfile) Validate() *schema.FieldError {
	switch {
	case p.Type != jwtAuth:
		return refuse("type", "cannot be %s yet: engines authenticate clients by tokens only; give %s", p.Type, jwtAuth)
	case p.JWTRef == "":
		return refuse("jwt_profile_ref", "is empty; %s needs the issuer of the tokens", jwtAuth)
	}
	return nil
}
