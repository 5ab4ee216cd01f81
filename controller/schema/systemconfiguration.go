package schema

// SystemConfiguration is the controller's own settings; there is one.
type SystemConfiguration struct {
	Identity
	DefaultLicenseTier      string               `json:"default_license_tier" enum:"LicenseTier" default:"ENTERPRISE"`
	WelcomeWorkflowComplete bool                 `json:"welcome_workflow_complete" default:"false"`
	SSHCiphers              []string             `json:"ssh_ciphers"`
	SSHHmacs                []string             `json:"ssh_hmacs"`
	EnableCORS              bool                 `json:"enable_cors" default:"false"`
	CommonCriteriaMode      bool                 `json:"common_criteria_mode" default:"false"`
	FIPSMode                bool                 `json:"fips_mode" default:"false"`
	Portal                  *PortalConfiguration `json:"portal_configuration" default:"{}"`
	GlobalTenantConfig      *TenantConfig        `json:"global_tenant_config" default:"{}"`
	DNS                     *DNSConfiguration    `json:"dns_configuration" default:"{}"`
	NTP                     *NTPConfiguration    `json:"ntp_configuration" default:"{}"`
	SecureChannel           *SecureChannel       `json:"secure_channel_configuration" default:"{}"`
}

// PortalConfiguration is how the controller serves its REST API and its UI.
type PortalConfiguration struct {
	EnableHTTPS              bool     `json:"enable_https" default:"true"`
	EnableHTTP               bool     `json:"enable_http" default:"true"`
	RedirectToHTTPS          bool     `json:"redirect_to_https" default:"true"`
	AllowBasicAuthentication bool     `json:"allow_basic_authentication" default:"false"`
	UseUUIDFromInput         bool     `json:"use_uuid_from_input" default:"false"`
	PasswordStrengthCheck    bool     `json:"password_strength_check" default:"false"`
	MinimumPasswordLength    uint32   `json:"minimum_password_length" min:"6" max:"32" default:"8"`
	DisableRemoteCLIShell    bool     `json:"disable_remote_cli_shell" default:"false"`
	DisableSwagger           bool     `json:"disable_swagger" default:"false"`
	EnableClickjacking       bool     `json:"enable_clickjacking_protection" default:"true"`
	APIForceTimeoutH         uint32   `json:"api_force_timeout" min:"1" max:"24" default:"24"`
	SSLProfileRef            string   `json:"sslprofile_ref" ref:"sslprofile" default:"System-Standard-Portal"`
	CertificateRefs          []string `json:"sslkeyandcertificate_refs" ref:"sslkeyandcertificate" items:"2"`
}

// DNSConfiguration is how the controller resolves names.
type DNSConfiguration struct {
	ServerList   []IPAddr `json:"server_list" items:"8"`
	SearchDomain string   `json:"search_domain" default:""`
}

// NTPConfiguration is where the controller gets the time.
type NTPConfiguration struct {
	NTPServerList []IPAddr    `json:"ntp_server_list" items:"8"`
	NTPServers    []NTPServer `json:"ntp_servers" items:"8"`
}

// NTPServer is one of its servers.
type NTPServer struct {
	Server *IPAddr `json:"server" required:"true"`
}

// SecureChannel is how the controller speaks with engines.
type SecureChannel struct {
	CertificateRefs []string `json:"sslkeyandcertificate_refs" ref:"sslkeyandcertificate" items:"1"`
}
