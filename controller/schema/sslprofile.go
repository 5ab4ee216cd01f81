package schema

import "fmt"

// SSLProfile is which versions and ciphers of TLS are spoken.
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

// SSLVersion is a version of TLS.
type SSLVersion struct {
	Type string `json:"type" enum:"SSLVersion" default:"SSL_VERSION_TLS1_1" required:"true"`
}

// Tag is a word on a profile.
type Tag struct {
	Type  string `json:"type" enum:"TagType" default:"USER_DEFINED"`
	Value string `json:"value" required:"true"`
}

func (p *SSLProfile) check() *FieldError {
	if len(p.AcceptedVersions) == 0 {
		return &FieldError{Field: "accepted_versions", Problem: "is empty; give at least one version"}
	}
	seen := map[string]bool{}
	for i, version := range p.AcceptedVersions {
		if seen[version.Type] {
			return &FieldError{Field: fmt.Sprintf("accepted_versions[%d]", i), Problem: version.Type + " is there twice"}
		}
		seen[version.Type] = true
	}
	if p.AcceptedCiphers == "" && len(p.CipherEnums) == 0 && p.Ciphersuites == "" {
		return &FieldError{Field: "accepted_ciphers", Problem: "is empty, as are cipher_enums and ciphersuites; give at least one cipher"}
	}
	return nil
}
