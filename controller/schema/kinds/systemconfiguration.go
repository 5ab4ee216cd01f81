package kinds

import "github.com/weir-lb/weir/controller/schema"

// SystemConfiguration is the settings of the controller. There is one such object.
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
	Email                   *EmailConfiguration  `json:"email_configuration"`
}

func init() {
	schema.Register[SystemConfiguration](schema.Definition{
		Only: "default",
		Builtins: []schema.Object{{
			// The first one that a client accepts is shown. A handshake with an RSA key takes ten times as long.
			"portal_configuration": schema.Object{"sslkeyandcertificate_refs": []any{
				"/api/sslkeyandcertificate?name=System-Default-Portal-Cert-EC256",
				"/api/sslkeyandcertificate?name=System-Default-Portal-Cert",
			}},
			"secure_channel_configuration": schema.Object{"sslkeyandcertificate_refs": []any{
				"/api/sslkeyandcertificate?name=System-Default-Secure-Channel-Cert",
			}},
		}},
		Kept: []schema.Rule{
			schema.Refuses("the API does not restrict the addresses of its clients yet",
				"mgmt_ip_access_control.api_access"),
			schema.Refuses("users log in with accounts of Weir only: without them nobody could log in",
				"admin_auth_configuration.allow_local_user_login"),
			schema.Refuses("the API does not ask its clients for certificates", "portal_configuration.pkiprofile_ref"),
			schema.NoEffect("Weir has no shell, no SSH server and no SNMP",
				`mgmt_ip_access_control host_key_algorithm_exclude
				kex_algorithm_exclude rekey_time_limit rekey_volume_limit snmp_configuration linux_configuration`),
			schema.NoEffect(noLogin, "admin_auth_configuration"),
			schema.NoEffect("times in mails are UTC", "email_configuration.email_timezone"),
			schema.NoEffect("the machine of the controller sets this",
				"ntp_configuration proxy_configuration docker_mode"),
			schema.NoEffect("the option --listen sets the address of the API", "portal_configuration"),
			schema.NoEffect(noLogs, "controller_analytics_policy"),
			schema.NoEffect(noDNS, "dns_virtualservice_refs"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect("Weir has no shell and no SSH server",
				"ssh_ciphers ssh_hmacs portal_configuration.disable_remote_cli_shell"),
			schema.NoEffect("the programs have only one mode of cryptography", "fips_mode common_criteria_mode"),
			schema.NoEffect("a session ends after 24 h, or 15 min without a request",
				"portal_configuration.api_force_timeout"),
			schema.NoEffect("Weir checks only the length of passwords, by minimum_password_length",
				"portal_configuration.password_strength_check"),
			schema.NoEffect("the API refuses requests from pages of other origins", "enable_cors"),
		},
	})
}

// PortalConfiguration defines how the controller serves its REST API and its UI.
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

// EmailConfiguration is the mail server for mails about alerts.
type EmailConfiguration struct {
	Type      string `json:"smtp_type" enum:"SMTPType" default:"SMTP_LOCAL_HOST"`
	FromEmail string `json:"from_email" default:"admin@avicontroller.net"`
	FromName  string `json:"from_name"`
	Server    string `json:"mail_server_name" default:"localhost"`
	Port      uint32 `json:"mail_server_port" min:"1" max:"65535" default:"25"`
	Username  string `json:"auth_username"`
	Password  string `json:"auth_password" secret:"true"`
	// The connection is encrypted by STARTTLS, or from the beginning at port 465, unless this is set.
	DisableTLS bool `json:"disable_tls" default:"false"`
}

var _ = schema.Enum("SMTPType", "SMTP_NONE", "SMTP_LOCAL_HOST", "SMTP_SERVER", "SMTP_ANONYMOUS_SERVER")

// DNSConfiguration defines how the controller resolves names.
type DNSConfiguration struct {
	ServerList   []IPAddr `json:"server_list" items:"8"`
	SearchDomain string   `json:"search_domain" default:""`
}

// NTPConfiguration defines where the controller gets the time.
type NTPConfiguration struct {
	NTPServerList []IPAddr    `json:"ntp_server_list" items:"8"`
	NTPServers    []NTPServer `json:"ntp_servers" items:"8"`
}

// NTPServer is one time server.
type NTPServer struct {
	Server *IPAddr `json:"server" required:"true"`
}

// SecureChannel defines how the controller and engines talk to each other.
type SecureChannel struct {
	CertificateRefs []string `json:"sslkeyandcertificate_refs" ref:"sslkeyandcertificate" items:"1"`
}
