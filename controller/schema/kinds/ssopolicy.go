package kinds

import "github.com/weir-lb/weir/controller/schema"

// SSOPolicy says which requests are authenticated, and by what.
type SSOPolicy struct {
	Identity
	Named
	Owned
	Markers        []Marker              `json:"markers"`
	Type           string                `json:"type" enum:"SSOPolicyType" default:"SSO_TYPE_SAML" required:"true"`
	Authentication *AuthenticationPolicy `json:"authentication_policy"`
	Authorization  *AuthorizationPolicy  `json:"authorization_policy"`
}

// AuthenticationPolicy is by what requests are authenticated.
type AuthenticationPolicy struct {
	DefaultAuthRef string               `json:"default_auth_profile_ref" ref:"authprofile"`
	Rules          []AuthenticationRule `json:"authn_rules" items:"256"`
}

const ssoJWT = "SSO_TYPE_JWT"

var _ = schema.Enum("SSOPolicyType", "SSO_TYPE_SAML", "SSO_TYPE_PINGACCESS", ssoJWT, "SSO_TYPE_LDAP",
	"SSO_TYPE_OAUTH")

func init() {
	schema.Register[SSOPolicy](schema.Definition{
		Serving: schema.PartOfService,
		Example: `  weir ssopolicy create tokens type=SSO_TYPE_JWT authentication_policy.default_auth_profile_ref=tokens`,
		Kept: []schema.Rule{
			schema.Closes("tokens have claims, and no attributes: use access_token",
				"authorization_policy.authz_rules.match.attr_matches"),
			schema.NoEffect("a request has one token, which jwt_config finds",
				"authorization_policy.authz_rules.match.access_token.token_name"),
			schema.NoEffect(computed, ""),
		},
	})
}

func (p *SSOPolicy) Validate() *schema.FieldError {
	switch {
	case p.Type != ssoJWT:
		return refuse("type", "cannot be %s yet: engines authenticate clients by tokens only; give %s", p.Type, ssoJWT)
	case p.Authentication == nil || p.Authentication.DefaultAuthRef == "":
		return refuse("authentication_policy.default_auth_profile_ref",
			"is empty; without it nobody could be authenticated")
	}
	return p.CheckRules()
}

// JWTConfig says where a virtual service finds the tokens of its clients, and for whom they must be.
type JWTConfig struct {
	Audience string `json:"audience" required:"true"`
	Location string `json:"jwt_location" enum:"JWTLocation" default:"JWT_LOCATION_AUTHORIZATION_HEADER"`
	Name     string `json:"jwt_name"`
}

const jwtInQuery = "JWT_LOCATION_QUERY_PARAM"

var _ = schema.Enum("JWTLocation", "JWT_LOCATION_AUTHORIZATION_HEADER", jwtInQuery)

// QueryName is the name of the parameter with the token; empty: the token is in the field Authorization.
func (c *JWTConfig) QueryName() string {
	if c.Location == jwtInQuery {
		return c.Name
	}
	return ""
}

func (c *JWTConfig) check() *schema.FieldError {
	switch {
	case c == nil:
		return nil
	case c.Audience == "":
		return refuse("jwt_config.audience", "is empty; give the name of the service that tokens are for")
	case c.Location == jwtInQuery && c.Name == "":
		return refuse("jwt_config.jwt_name", "is empty; %s needs the name of the parameter", jwtInQuery)
	case c.Location == jwtInQuery && !isUnreserved(c.Name):
		return refuse("jwt_config.jwt_name", "has characters that a URL encodes; give letters, digits, - . _ and ~")
	case c.Location != jwtInQuery && c.Name != "":
		return refuse("jwt_config.jwt_name", "is for %s only: remove it", jwtInQuery)
	}
	return nil
}

// isUnreserved tells whether a text is the same in a URL (RFC 3986 §2.3).
func isUnreserved(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
		if !letter && !digit && c != '-' && c != '.' && c != '_' && c != '~' {
			return false
		}
	}
	return true
}
