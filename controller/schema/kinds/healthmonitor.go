package kinds

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// HealthMonitor defines how engines check a server.
type HealthMonitor struct {
	Identity
	Named
	Owned
	Description      string   `json:"description"`
	Markers          []Marker `json:"markers"`
	Type             string   `json:"type" enum:"HealthMonitorType" required:"true"`
	SendIntervalS    uint32   `json:"send_interval" min:"1" max:"3600" default:"10"`
	ReceiveTimeoutS  uint32   `json:"receive_timeout" min:"1" max:"2400" default:"4"`
	SuccessfulChecks uint32   `json:"successful_checks" min:"1" max:"50" default:"2"`
	FailedChecks     uint32   `json:"failed_checks" min:"1" max:"50" default:"2"`
	// 0: the port of the server
	MonitorPort            uint32              `json:"monitor_port" min:"1" max:"65535" also:"0"`
	AllowDuplicateMonitors bool                `json:"allow_duplicate_monitors" default:"false"`
	DisableQuickstart      bool                `json:"disable_quickstart" default:"false"`
	IsFederated            bool                `json:"is_federated" default:"false"`
	HTTP                   *HTTPMonitor        `json:"http_monitor"`
	HTTPS                  *HTTPMonitor        `json:"https_monitor"`
	TCP                    *TCPMonitor         `json:"tcp_monitor"`
	UDP                    *UDPMonitor         `json:"udp_monitor"`
	DNS                    *DNSMonitor         `json:"dns_monitor"`
	External               *ExternalMonitor    `json:"external_monitor"`
	SIP                    *SIPMonitor         `json:"sip_monitor"`
	RADIUS                 *RADIUSMonitor      `json:"radius_monitor"`
	SMTP                   *SMTPMonitor        `json:"smtp_monitor"`
	SMTPS                  *SMTPMonitor        `json:"smtps_monitor"`
	POP3                   *POP3Monitor        `json:"pop3_monitor"`
	POP3S                  *POP3Monitor        `json:"pop3s_monitor"`
	IMAP                   *IMAPMonitor        `json:"imap_monitor"`
	IMAPS                  *IMAPMonitor        `json:"imaps_monitor"`
	FTP                    *FTPMonitor         `json:"ftp_monitor"`
	FTPS                   *FTPMonitor         `json:"ftps_monitor"`
	LDAP                   *LDAPMonitor        `json:"ldap_monitor"`
	LDAPS                  *LDAPMonitor        `json:"ldaps_monitor"`
	GRPC                   *GRPCMonitor        `json:"weir_grpc_monitor"`
	Authentication         *MonitorCredentials `json:"authentication"`
}

func init() {
	schema.Register[HealthMonitor](schema.Definition{
		Short:   []string{"hm"},
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Enum("TYPE", "HEALTH_MONITOR_", "type"),
			column.Field("INTERVAL", "send_interval"),
			column.Field("TIMEOUT", "receive_timeout"),
		},
		Example: `  weir hm create web type=HEALTH_MONITOR_HTTP ` +
			`http_monitor.http_request="GET /health HTTP/1.0" http_monitor.http_response_code[0]=HTTP_2XX`,
		Builtins: []schema.Object{
			{"name": "System-TCP", "type": "HEALTH_MONITOR_TCP", "tcp_monitor": schema.Object{}},
			{
				"name": "System-HTTP", "type": "HEALTH_MONITOR_HTTP",
				"http_monitor": schema.Object{
					"http_request": "HEAD / HTTP/1.0", "http_response_code": []any{"HTTP_2XX", "HTTP_3XX"},
				},
			},
			{
				"name": "System-HTTPS", "type": "HEALTH_MONITOR_HTTPS",
				"https_monitor": schema.Object{
					"http_request": "HEAD / HTTP/1.0", "http_response_code": []any{"HTTP_2XX", "HTTP_3XX"},
					"ssl_attributes": schema.Object{},
				},
			},
			{"name": "System-Ping", "type": "HEALTH_MONITOR_PING"},
		},
		Kept: []schema.Rule{
			schema.NoEffect("engines do not speak SCTP", "sctp_monitor"),
		},
		Unread: []schema.Rule{
			schema.NoEffect("engines run the script in command_code", "external_monitor.command_path"),
			schema.NoEffect(noSites, "is_federated"),
			schema.NoEffect("this type does not use TLS",
				`http_monitor.ssl_attributes smtp_monitor.ssl_attributes pop3_monitor.ssl_attributes
				imap_monitor.ssl_attributes ftp_monitor.ssl_attributes ldap_monitor.ssl_attributes`),
		},
	})
}

var (
	_ = schema.Enum("AuthType", "AUTH_BASIC", "AUTH_NTLM")
	_ = schema.Enum("DNSQueryType", "DNS_QUERY_TYPE", "DNS_ANY_TYPE", "DNS_ANY_THING")
	_ = schema.Enum("DNSResponseCode", "RCODE_NO_ERROR", "RCODE_ANYTHING")
	_ = schema.Enum("FTPMode", "FTP_PASSIVE_MODE", "FTP_PORT_MODE")
	_ = schema.Enum("HTTPResponseCode", "HTTP_ANY", "HTTP_1XX", "HTTP_2XX", "HTTP_3XX", "HTTP_4XX", "HTTP_5XX")
	_ = schema.Enum("HealthMonitorType",
		"HEALTH_MONITOR_PING", "HEALTH_MONITOR_TCP", "HEALTH_MONITOR_HTTP", "HEALTH_MONITOR_HTTPS",
		"HEALTH_MONITOR_EXTERNAL", "HEALTH_MONITOR_UDP", "HEALTH_MONITOR_DNS", "HEALTH_MONITOR_GSLB",
		"HEALTH_MONITOR_SIP", "HEALTH_MONITOR_RADIUS", "HEALTH_MONITOR_SMTP", "HEALTH_MONITOR_SMTPS",
		"HEALTH_MONITOR_POP3", "HEALTH_MONITOR_POP3S", "HEALTH_MONITOR_IMAP", "HEALTH_MONITOR_IMAPS",
		"HEALTH_MONITOR_FTP", "HEALTH_MONITOR_FTPS", "HEALTH_MONITOR_LDAP", "HEALTH_MONITOR_LDAPS",
		"HEALTH_MONITOR_SCTP", "HEALTH_MONITOR_WEIR_GRPC",
	)
	_ = schema.Enum("LDAPScope", "LDAP_BASE_MODE", "LDAP_ONE_MODE", "LDAP_SUB_MODE")
	_ = schema.Enum("SIPRequestCode", "SIP_OPTIONS")
	_ = schema.Enum("SIPTransport", "SIP_UDP_PROTO", "SIP_TCP_PROTO")
)

// HTTPMonitor is a request, and what a healthy response looks like.
type HTTPMonitor struct {
	Request             string                `json:"http_request" default:"GET / HTTP/1.0"`
	ExactRequest        bool                  `json:"exact_http_request" default:"false"`
	RequestBody         string                `json:"http_request_body"`
	ResponseCodes       []string              `json:"http_response_code" enum:"HTTPResponseCode" default:"[\"HTTP_2XX\"]"`
	Response            string                `json:"http_response"`
	MaintenanceCodes    []uint32              `json:"maintenance_code" min:"101" max:"599" items:"4"`
	MaintenanceResponse string                `json:"maintenance_response"`
	ResponseBytes       uint32                `json:"response_size" min:"2048" max:"16384"`
	AuthType            string                `json:"auth_type" enum:"AuthType"`
	SSLAttributes       *MonitorSSLAttributes `json:"ssl_attributes"`
}

// MonitorSSLAttributes defines how a monitor uses TLS.
type MonitorSSLAttributes struct {
	SSLProfileRef  string `json:"ssl_profile_ref" ref:"sslprofile" default:"System-Standard"`
	PKIProfileRef  string `json:"pki_profile_ref" ref:"pkiprofile"`
	CertificateRef string `json:"ssl_key_and_certificate_ref" ref:"sslkeyandcertificate"`
	ServerName     string `json:"server_name"`
}

// TCPMonitor is a connection, with an optional request and response.
type TCPMonitor struct {
	Request             string `json:"tcp_request"`
	Response            string `json:"tcp_response"`
	MaintenanceResponse string `json:"maintenance_response"`
	HalfOpen            bool   `json:"tcp_half_open" default:"false"`
}

// GRPCMonitor is a call of the standard health service, grpc.health.v1. Its certificate is not verified.
type GRPCMonitor struct {
	// empty: the server as a whole
	Service    string `json:"service"`
	TLS        bool   `json:"tls" default:"false"`
	ServerName string `json:"server_name"`
}

// UDPMonitor is a datagram and its answer.
type UDPMonitor struct {
	Request             string `json:"udp_request"`
	Response            string `json:"udp_response"`
	MaintenanceResponse string `json:"maintenance_response"`
}

// DNSMonitor is a question, and its answer.
type DNSMonitor struct {
	QueryName      string `json:"query_name" required:"true"`
	QueryType      string `json:"qtype" enum:"DNSQueryType" default:"DNS_QUERY_TYPE"`
	ResponseCode   string `json:"rcode" enum:"DNSResponseCode" default:"RCODE_NO_ERROR"`
	RecordType     string `json:"record_type" enum:"DNSRecordType" default:"DNS_RECORD_A"`
	ResponseString string `json:"response_string"`
}

// ExternalMonitor is a script that prints something if the server works.
type ExternalMonitor struct {
	Code       string `json:"command_code" required:"true" secret:"true"`
	Parameters string `json:"command_parameters"` // words, as in a shell
	Path       string `json:"command_path"`
	Variables  string `json:"command_variables" secret:"true"` // NAME=value, words as in a shell
}

// SIPMonitor asks for the options of a server.
type SIPMonitor struct {
	RequestCode string `json:"sip_request_code" enum:"SIPRequestCode" default:"SIP_OPTIONS"`
	Response    string `json:"sip_response" default:"SIP/2.0"`
	Transport   string `json:"sip_monitor_transport" enum:"SIPTransport" default:"SIP_UDP_PROTO"`
}

// RADIUSMonitor is a user that a server accepts.
type RADIUSMonitor struct {
	Username     string `json:"username" required:"true"`
	Password     string `json:"password" required:"true" secret:"true"`
	SharedSecret string `json:"shared_secret" required:"true" secret:"true"`
}

// SMTPMonitor is a mail. Without sender and recipients none is sent.
type SMTPMonitor struct {
	DomainName    string                `json:"domainname"`
	SenderID      string                `json:"sender_id"`
	RecipientIDs  []string              `json:"recipients_ids"`
	MailData      string                `json:"mail_data"`
	SSLAttributes *MonitorSSLAttributes `json:"ssl_attributes"`
}

// POP3Monitor logs in with the credentials of the monitor.
type POP3Monitor struct {
	SSLAttributes *MonitorSSLAttributes `json:"ssl_attributes"`
}

// IMAPMonitor logs in with the credentials of the monitor, and selects a folder.
type IMAPMonitor struct {
	Folder        string                `json:"folder"`
	SSLAttributes *MonitorSSLAttributes `json:"ssl_attributes"`
}

// FTPMonitor is a file to get.
type FTPMonitor struct {
	Filename      string                `json:"filename" required:"true"`
	Mode          string                `json:"mode" enum:"FTPMode" default:"FTP_PASSIVE_MODE"`
	SSLAttributes *MonitorSSLAttributes `json:"ssl_attributes"`
}

// LDAPMonitor is a search.
type LDAPMonitor struct {
	BaseDN        string                `json:"base_dn" required:"true"`
	Scope         string                `json:"scope" enum:"LDAPScope" default:"LDAP_BASE_MODE"`
	Attributes    string                `json:"attributes"` // separated by spaces or commas
	Filter        string                `json:"filter"`
	SSLAttributes *MonitorSSLAttributes `json:"ssl_attributes"`
}

// MonitorCredentials are the credentials with which a monitor logs in.
type MonitorCredentials struct {
	Username string `json:"username" required:"true" secret:"true"`
	Password string `json:"password" required:"true" secret:"true"`
}

func (m *HealthMonitor) Validate() *schema.FieldError {
	checks := []func() *schema.FieldError{
		m.checkType, m.checkHTTP, m.checkNames, m.checkLines, m.checkParts, m.checkDNS, m.checkScript,
	}
	for _, check := range checks {
		if problem := check(); problem != nil {
			return problem
		}
	}
	if m.ReceiveTimeoutS > m.SendIntervalS {
		return &schema.FieldError{Field: "receive_timeout", Problem: "is longer than send_interval; give at most that"}
	}
	return nil
}

// checkType refuses types that engines cannot run, and those whose settings are missing.
func (m *HealthMonitor) checkType() *schema.FieldError {
	switch m.Type {
	case "HEALTH_MONITOR_SCTP":
		return &schema.FieldError{Field: "type", Problem: m.Type + " is refused: engines do not speak SCTP"}
	case "HEALTH_MONITOR_GSLB":
		return &schema.FieldError{Field: "type", Problem: m.Type + " is refused: Weir serves no sites"}
	}
	needs := map[string]struct {
		field   string
		missing bool
	}{
		"HEALTH_MONITOR_HTTP":     {"http_monitor", m.HTTP == nil},
		"HEALTH_MONITOR_HTTPS":    {"https_monitor", m.HTTPS == nil},
		"HEALTH_MONITOR_UDP":      {"udp_monitor", m.UDP == nil},
		"HEALTH_MONITOR_DNS":      {"dns_monitor", m.DNS == nil},
		"HEALTH_MONITOR_EXTERNAL": {"external_monitor", m.External == nil},
		"HEALTH_MONITOR_RADIUS":   {"radius_monitor", m.RADIUS == nil},
		"HEALTH_MONITOR_FTP":      {"ftp_monitor", m.FTP == nil},
		"HEALTH_MONITOR_FTPS":     {"ftps_monitor", m.FTPS == nil},
		"HEALTH_MONITOR_LDAP":     {"ldap_monitor", m.LDAP == nil},
		"HEALTH_MONITOR_LDAPS":    {"ldaps_monitor", m.LDAPS == nil},
	}
	if need := needs[m.Type]; need.missing {
		return &schema.FieldError{Field: need.field, Problem: "is required by type " + m.Type}
	}
	return nil
}

// checkHTTP checks what HTTP and HTTPS have in common.
func (m *HealthMonitor) checkHTTP() *schema.FieldError {
	for field, check := range map[string]*HTTPMonitor{"http_monitor": m.HTTP, "https_monitor": m.HTTPS} {
		switch {
		case check == nil:
		case len(check.ResponseCodes) == 0:
			return &schema.FieldError{Field: field + ".http_response_code", Problem: "is empty; give at least one"}
		case check.AuthType != "" && m.Authentication == nil:
			return &schema.FieldError{Field: "authentication", Problem: "is required by " + field + ".auth_type"}
		}
	}
	return nil
}

func (m *HealthMonitor) checkNames() *schema.FieldError {
	names := map[string]string{}
	if m.GRPC != nil {
		names["weir_grpc_monitor.server_name"] = m.GRPC.ServerName
	}
	if field, attributes := m.TLS(); attributes != nil {
		names[field+".server_name"] = attributes.ServerName
	}
	for field, name := range names {
		if name != "" && !hostName.MatchString(name) {
			return &schema.FieldError{Field: field, Problem: schema.Show(name) + " is not a host name"}
		}
	}
	return nil
}

// TLS returns the settings for TLS of the monitor's type, and the field that has them; nil: there are none.
func (m *HealthMonitor) TLS() (field string, settings *MonitorSSLAttributes) {
	switch {
	case m.Type == "HEALTH_MONITOR_HTTPS" && m.HTTPS != nil:
		return "https_monitor.ssl_attributes", m.HTTPS.SSLAttributes
	case m.Type == "HEALTH_MONITOR_SMTPS" && m.SMTPS != nil:
		return "smtps_monitor.ssl_attributes", m.SMTPS.SSLAttributes
	case m.Type == "HEALTH_MONITOR_POP3S" && m.POP3S != nil:
		return "pop3s_monitor.ssl_attributes", m.POP3S.SSLAttributes
	case m.Type == "HEALTH_MONITOR_IMAPS" && m.IMAPS != nil:
		return "imaps_monitor.ssl_attributes", m.IMAPS.SSLAttributes
	case m.Type == "HEALTH_MONITOR_FTPS" && m.FTPS != nil:
		return "ftps_monitor.ssl_attributes", m.FTPS.SSLAttributes
	case m.Type == "HEALTH_MONITOR_LDAPS" && m.LDAPS != nil:
		return "ldaps_monitor.ssl_attributes", m.LDAPS.SSLAttributes
	}
	return "", nil
}

// checkLines refuses line breaks in what becomes part of a line.
func (m *HealthMonitor) checkLines() *schema.FieldError {
	lines := map[string]string{}
	if m.Authentication != nil {
		lines["authentication.username"] = m.Authentication.Username
		lines["authentication.password"] = m.Authentication.Password
	}
	for field, mail := range map[string]*SMTPMonitor{"smtp_monitor": m.SMTP, "smtps_monitor": m.SMTPS} {
		if mail == nil {
			continue
		}
		lines[field+".domainname"], lines[field+".sender_id"] = mail.DomainName, mail.SenderID
		for i, recipient := range mail.RecipientIDs {
			lines[fmt.Sprintf("%s.recipients_ids[%d]", field, i)] = recipient
		}
	}
	for field, folder := range map[string]*IMAPMonitor{"imap_monitor": m.IMAP, "imaps_monitor": m.IMAPS} {
		if folder != nil {
			lines[field+".folder"] = folder.Folder
		}
	}
	for field, file := range map[string]*FTPMonitor{"ftp_monitor": m.FTP, "ftps_monitor": m.FTPS} {
		if file != nil {
			lines[field+".filename"] = file.Filename
		}
	}
	for _, field := range slices.Sorted(maps.Keys(lines)) {
		if strings.ContainsAny(lines[field], "\r\n\x00") {
			return &schema.FieldError{Field: field, Problem: "has a line break or a zero byte"}
		}
	}
	return nil
}

// checkParts refuses settings that need others.
func (m *HealthMonitor) checkParts() *schema.FieldError {
	for field, mail := range map[string]*SMTPMonitor{"smtp_monitor": m.SMTP, "smtps_monitor": m.SMTPS} {
		switch {
		case mail == nil:
		case mail.SenderID == "" && len(mail.RecipientIDs)+len(mail.MailData) > 0:
			return &schema.FieldError{Field: field + ".sender_id", Problem: "is missing: a mail has a sender"}
		case mail.SenderID != "" && len(mail.RecipientIDs) == 0:
			return &schema.FieldError{Field: field + ".recipients_ids", Problem: "is empty: a mail has recipients"}
		}
	}
	for field, imap := range map[string]*IMAPMonitor{"imap_monitor": m.IMAP, "imaps_monitor": m.IMAPS} {
		if imap != nil && imap.Folder != "" && m.Authentication == nil {
			return &schema.FieldError{Field: "authentication", Problem: "is required by " + field + ".folder"}
		}
	}
	if m.RADIUS != nil && len(m.RADIUS.Password) > 128 {
		// RFC 2865 §5.2
		return &schema.FieldError{Field: "radius_monitor.password", Problem: "is longer than 128 bytes"}
	}
	if m.RADIUS != nil && len(m.RADIUS.Username) > 253 {
		return &schema.FieldError{Field: "radius_monitor.username", Problem: "is longer than 253 bytes"}
	}
	return nil
}

// noQuestion are the types of record for which nobody can ask with a single datagram.
var noQuestion = []string{"DNS_RECORD_OTHER", "DNS_RECORD_OPT", "DNS_RECORD_AXFR"}

func (m *HealthMonitor) checkDNS() *schema.FieldError {
	if m.DNS == nil {
		return nil
	}
	name := strings.TrimSuffix(m.DNS.QueryName, ".")
	if len(name) > 253 || m.DNS.QueryName != "." && slices.ContainsFunc(strings.Split(name, "."), badLabel) {
		return &schema.FieldError{Field: "dns_monitor.query_name",
			Problem: schema.Show(m.DNS.QueryName) + " is not a name in DNS"}
	}
	if slices.Contains(noQuestion, m.DNS.RecordType) {
		return &schema.FieldError{Field: "dns_monitor.record_type",
			Problem: m.DNS.RecordType + " is not a type that a monitor can ask for"}
	}
	return nil
}

// badLabel tells whether a part of a name cannot be one (RFC 1035 §2.3.4).
func badLabel(label string) bool {
	bad := func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }
	return label == "" || len(label) > 63 || strings.ContainsFunc(label, bad)
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (m *HealthMonitor) checkScript() *schema.FieldError {
	if m.External == nil {
		return nil
	}
	if _, err := Words(m.External.Parameters); err != nil {
		return &schema.FieldError{Field: "external_monitor.command_parameters", Problem: err.Error()}
	}
	words, err := Words(m.External.Variables)
	if err != nil {
		return &schema.FieldError{Field: "external_monitor.command_variables", Problem: err.Error()}
	}
	for i, word := range words {
		if !variable.MatchString(word) {
			return &schema.FieldError{Field: "external_monitor.command_variables",
				Problem: fmt.Sprintf("the word %d is not NAME=value", i+1)}
		}
	}
	return nil
}

// Words splits a text at spaces. As in a shell, quotes and backslashes keep spaces; nothing else has a meaning.
func Words(text string) ([]string, error) {
	var words []string
	word, inWord, quote := strings.Builder{}, false, rune(0)
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == 0:
			return nil, errors.New("has a zero byte")
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			if i++; i == len(runes) {
				return nil, errors.New("ends with a backslash")
			}
			word.WriteRune(runes[i])
		default:
			word.WriteRune(r)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("has a %c without its end", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
