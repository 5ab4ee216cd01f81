package kinds

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// SSLProfile is the accepted versions and ciphers of TLS.
type SSLProfile struct {
	Identity
	Named
	Owned
	Description             string       `json:"description"`
	Markers                 []Marker     `json:"markers"`
	Type                    string       `json:"type" enum:"SSLProfileType" default:"SSL_PROFILE_TYPE_APPLICATION"`
	AcceptedVersions        []SSLVersion `json:"accepted_versions" items:"8" default:"[{\"type\":\"SSL_VERSION_TLS1_2\"},{\"type\":\"SSL_VERSION_TLS1_3\"}]"`
	AcceptedCiphers         string       `json:"accepted_ciphers" default:"AES:3DES:RC4"`
	CipherEnums             []string     `json:"cipher_enums" enum:"Cipher" items:"100"`
	Ciphersuites            string       `json:"ciphersuites" default:"TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"`
	PreferClientCipherOrder bool         `json:"prefer_client_cipher_ordering" default:"false"`
	EnableSSLSessionReuse   bool         `json:"enable_ssl_session_reuse" default:"true"`
	SSLSessionTimeoutS      uint32       `json:"ssl_session_timeout" default:"86400"`
	SendCloseNotify         bool         `json:"send_close_notify" default:"true"`
	EnableEarlyData         bool         `json:"enable_early_data" default:"false"`
	DHParam                 string       `json:"dhparam"`
	ECNamedCurve            string       `json:"ec_named_curve" default:"auto"`
	SignatureAlgorithm      string       `json:"signature_algorithm" default:"auto"`
	IsFederated             bool         `json:"is_federated" default:"false"`
	Tags                    []Tag        `json:"tags"`
}

func init() {
	schema.Register[SSLProfile](schema.Definition{
		Short:   []string{"ssl-profile"},
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Of("VERSIONS", tlsVersions),
		},
		Builtins: []schema.Object{
			sslProfile("System-Standard", "SSL_PROFILE_TYPE_APPLICATION", standardCiphers),
			sslProfile("System-Standard-PFS", "SSL_PROFILE_TYPE_APPLICATION", standardCiphers),
			sslProfile("System-Standard-Portal", "SSL_PROFILE_TYPE_SYSTEM", portalCiphers),
		},
		Kept: []schema.Rule{
			schema.NoEffect(computed, "ssl_rating"),
		},
		Unread: []schema.Rule{
			schema.NoEffect(noSites, "is_federated"),
			schema.NoEffect("engines take no early data, because it can be sent again by others", "enable_early_data"),
			schema.NoEffect("engines offer no cipher suites that agree on keys by finite fields (DHE)", "dhparam"),
			schema.NoEffect("engines sign with SHA-256, SHA-384 or SHA-512, by what the client offers and the key can",
				"signature_algorithm"),
		},
	})
}

var (
	_ = schema.Enum("Cipher",
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384",
		"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
		"TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_RSA_WITH_AES_128_CBC_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
		"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
		"TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA",
		"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_RC4_128_SHA",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		"TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
	)
	_ = schema.Enum("SSLProfileType", "SSL_PROFILE_TYPE_APPLICATION", "SSL_PROFILE_TYPE_SYSTEM")
	_ = schema.Enum("SSLVersion",
		"SSL_VERSION_SSLV3", "SSL_VERSION_TLS1", "SSL_VERSION_TLS1_1", "SSL_VERSION_TLS1_2", "SSL_VERSION_TLS1_3",
	)
	_ = schema.Enum("TagType", "AVI_DEFINED", "USER_DEFINED", "VCENTER_DEFINED")
)

// SSLVersion is a version of TLS.
type SSLVersion struct {
	Type string `json:"type" enum:"SSLVersion" default:"SSL_VERSION_TLS1_1" required:"true"`
}

// Tag is a label of a profile.
type Tag struct {
	Type  string `json:"type" enum:"TagType" default:"USER_DEFINED"`
	Value string `json:"value" required:"true"`
}

func (p *SSLProfile) Validate() *schema.FieldError {
	if len(p.AcceptedVersions) == 0 {
		return &schema.FieldError{Field: "accepted_versions", Problem: "is empty; give at least one version"}
	}
	seen := map[string]bool{}
	for i, version := range p.AcceptedVersions {
		if seen[version.Type] {
			return &schema.FieldError{Field: fmt.Sprintf("accepted_versions[%d]", i), Problem: version.Type +
				" is there twice"}
		}
		seen[version.Type] = true
	}
	if p.AcceptedCiphers == "" && len(p.CipherEnums) == 0 && p.Ciphersuites == "" {
		return &schema.FieldError{
			Field:   "accepted_ciphers",
			Problem: "is empty, as are cipher_enums and ciphersuites; give at least one cipher",
		}
	}
	return nil
}

// The cipher lists of the built-in SSL profiles, in openssl's format. Those of Avi also have suites that no engine
// offers: with CBC, with 3DES, and without forward secrecy.
const (
	standardCiphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:" +
		"ECDHE-RSA-AES256-GCM-SHA384"
	portalCiphers = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:" +
		"ECDHE-RSA-AES128-GCM-SHA256"
)

func sslProfile(name, kind, ciphers string) schema.Object {
	return schema.Object{"name": name, "type": kind, "accepted_ciphers": ciphers}
}

func tlsVersions(row column.Row) string {
	var list []string
	for _, version := range column.List(row.Object, "accepted_versions") {
		text := strings.TrimPrefix(column.Text(column.At(version, "type")), "SSL_VERSION_")
		list = append(list, strings.ReplaceAll(text, "_", "."))
	}
	return strings.Join(list, ", ")
}
