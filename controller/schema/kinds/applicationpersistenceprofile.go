package kinds

import "github.com/weir-lb/weir/controller/schema"

// ApplicationPersistenceProfile defines how clients come back to the server that served them before.
type ApplicationPersistenceProfile struct {
	Identity
	Named
	Owned
	Description          string                 `json:"description"`
	Markers              []Marker               `json:"markers"`
	Type                 string                 `json:"persistence_type" enum:"PersistenceType" default:"PERSISTENCE_TYPE_CLIENT_IP_ADDRESS" required:"true"`
	ServerHMDownRecovery string                 `json:"server_hm_down_recovery" enum:"PersistenceRecovery" default:"HM_DOWN_PICK_NEW_SERVER"`
	IsFederated          bool                   `json:"is_federated" default:"false"`
	HTTPCookie           *HTTPCookiePersistence `json:"http_cookie_persistence_profile"`
	ClientIP             *ClientIPPersistence   `json:"ip_persistence_profile"`
	Header               *HeaderPersistence     `json:"hdr_persistence_profile"`
	AppCookie            *AppCookiePersistence  `json:"app_cookie_persistence_profile"`
}

func init() {
	schema.Register[ApplicationPersistenceProfile](schema.Definition{
		Short:   []string{"persistence"},
		Serving: schema.PartOfService,
		Unread:  []schema.Rule{schema.NoEffect(noSites, "is_federated")},
		Builtins: []schema.Object{
			{
				"name": "System-Persistence-Http-Cookie", "persistence_type": "PERSISTENCE_TYPE_HTTP_COOKIE",
				"http_cookie_persistence_profile": schema.Object{"always_send_cookie": false},
			},
			{
				"name": "System-Persistence-Client-IP", "persistence_type": "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS",
				"ip_persistence_profile": schema.Object{},
			},
		},
		Kept: []schema.Rule{
			schema.NoEffect("cookies are made with aes_key alone", "http_cookie_persistence_profile.key"),
			schema.NoEffect("engines do not support this kind of persistence yet", ""),
		},
	})
}

var (
	_ = schema.Enum("PersistenceRecovery",
		"HM_DOWN_PICK_NEW_SERVER", "HM_DOWN_ABORT_CONNECTION", "HM_DOWN_CONTINUE_PERSISTENT_SERVER",
	)
	_ = schema.Enum("PersistenceType",
		"PERSISTENCE_TYPE_CLIENT_IP_ADDRESS", "PERSISTENCE_TYPE_HTTP_COOKIE", "PERSISTENCE_TYPE_TLS",
		"PERSISTENCE_TYPE_CLIENT_IPV6_ADDRESS",
		"PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER", "PERSISTENCE_TYPE_APP_COOKIE", "PERSISTENCE_TYPE_GSLB_SITE",
	)
)

// HTTPCookiePersistence is the form of the cookie that names a server.
type HTTPCookiePersistence struct {
	CookieName         string `json:"cookie_name"` // empty: the name is derived from the pool
	AlwaysSendCookie   bool   `json:"always_send_cookie" default:"false"`
	HTTPOnly           bool   `json:"http_only" default:"false"`
	IsPersistentCookie bool   `json:"is_persistent_cookie" default:"false"`
	TimeoutMin         uint32 `json:"timeout" max:"14400"` // since the cookie was made; 0: no end
	// name of the key that makes cookies; empty: the first
	EncryptionKey string           `json:"encryption_key" secret:"true"`
	Keys          []PersistenceKey `json:"key" items:"16"`
}

// PersistenceKey is the key from which the names of servers in cookies are made.
type PersistenceKey struct {
	Name string `json:"name"`
	AES  string `json:"aes_key" secret:"true"`
}

// ClientIPPersistence is how long the address of a client is remembered.
type ClientIPPersistence struct {
	TimeoutMin uint32 `json:"ip_persistent_timeout" min:"1" max:"720" default:"5"`
	MaskBits   uint32 `json:"ip_mask" max:"128" default:"128"` // first bits of an address that count
}

// HeaderPersistence names the header field whose value is the prst_hdr_val of a server.
type HeaderPersistence struct {
	Name string `json:"prst_hdr_name"`
}

// AppCookiePersistence names a cookie that servers set.
type AppCookiePersistence struct {
	Name          string `json:"prst_hdr_name" required:"true"`
	TimeoutMin    uint32 `json:"timeout" min:"1" max:"720" default:"20"` // after the last connection
	EncryptionKey string `json:"encryption_key" secret:"true"`           // from which the names of servers are made
}

func (p *ApplicationPersistenceProfile) Validate() *schema.FieldError {
	cookie := p.HTTPCookie
	switch {
	case cookie == nil && p.Type == "PERSISTENCE_TYPE_HTTP_COOKIE":
		return &schema.FieldError{
			Field:   "http_cookie_persistence_profile",
			Problem: "is required by PERSISTENCE_TYPE_HTTP_COOKIE; give {} for the defaults",
		}
	case p.Type == "PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER" && (p.Header == nil || p.Header.Name == ""):
		return &schema.FieldError{
			Field:   "hdr_persistence_profile.prst_hdr_name",
			Problem: "is required by PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER",
		}
	case p.Type == "PERSISTENCE_TYPE_APP_COOKIE" && p.AppCookie == nil:
		return &schema.FieldError{
			Field:   "app_cookie_persistence_profile",
			Problem: "is required by PERSISTENCE_TYPE_APP_COOKIE",
		}
	case p.Type == "PERSISTENCE_TYPE_APP_COOKIE" && !p.AppCookie.IsNamed():
		return &schema.FieldError{
			Field:   "app_cookie_persistence_profile.prst_hdr_name",
			Problem: "is empty, or has more than letters, digits and !#$%&'*+-.^_`|~, or more than 128 of them",
		}
	case p.Header != nil && p.Header.Name != "" && !isCookieName(p.Header.Name):
		return &schema.FieldError{
			Field:   "hdr_persistence_profile.prst_hdr_name",
			Problem: "has more than letters, digits, - and _, or more than 128 of them",
		}
	case cookie != nil && !isCookieName(cookie.CookieName):
		return &schema.FieldError{
			Field:   "http_cookie_persistence_profile.cookie_name",
			Problem: "has more than letters, digits, - and _, or more than 128 of them",
		}
	}
	return nil
}

// IsNamed tells whether servers can set a cookie of this name.
func (p *AppCookiePersistence) IsNamed() bool { return headerName(p.Name) && len(p.Name) <= 128 }

func isCookieName(name string) bool {
	for _, r := range name {
		if (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_' {
			return false
		}
	}
	return len(name) <= 128
}
