package kinds

import (
	"errors"
	"fmt"
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
			schema.Closes("monitors do not verify the certificates of servers yet",
				"http_monitor.ssl_attributes.pki_profile_ref https_monitor.ssl_attributes.pki_profile_ref"),
			schema.NoEffect("engines cannot run such monitors yet",
				"ftp* imap* ldap* pop3* radius_monitor sctp_monitor sip_monitor smtp*"),
		},
		Unread: []schema.Rule{
			schema.NoEffect("engines run the script in command_code", "external_monitor.command_path"),
			schema.NoEffect("monitors do not log in yet",
				"authentication http_monitor.auth_type https_monitor.auth_type"),
			schema.NoEffect("monitors have TLS settings of their own, and no certificate",
				`https_monitor.ssl_attributes.ssl_profile_ref
				https_monitor.ssl_attributes.ssl_key_and_certificate_ref`),
		},
	})
}

var (
	_ = schema.Enum("AuthType", "AUTH_BASIC", "AUTH_NTLM")
	_ = schema.Enum("DNSQueryType", "DNS_QUERY_TYPE", "DNS_ANY_TYPE", "DNS_ANY_THING")
	_ = schema.Enum("DNSResponseCode", "RCODE_NO_ERROR", "RCODE_ANYTHING")
	_ = schema.Enum("HTTPResponseCode", "HTTP_ANY", "HTTP_1XX", "HTTP_2XX", "HTTP_3XX", "HTTP_4XX", "HTTP_5XX")
	_ = schema.Enum("HealthMonitorType",
		"HEALTH_MONITOR_PING", "HEALTH_MONITOR_TCP", "HEALTH_MONITOR_HTTP", "HEALTH_MONITOR_HTTPS",
		"HEALTH_MONITOR_EXTERNAL", "HEALTH_MONITOR_UDP", "HEALTH_MONITOR_DNS", "HEALTH_MONITOR_GSLB",
		"HEALTH_MONITOR_SIP", "HEALTH_MONITOR_RADIUS", "HEALTH_MONITOR_SMTP", "HEALTH_MONITOR_SMTPS",
		"HEALTH_MONITOR_POP3", "HEALTH_MONITOR_POP3S", "HEALTH_MONITOR_IMAP", "HEALTH_MONITOR_IMAPS",
		"HEALTH_MONITOR_FTP", "HEALTH_MONITOR_FTPS", "HEALTH_MONITOR_LDAP", "HEALTH_MONITOR_LDAPS",
		"HEALTH_MONITOR_SCTP", "HEALTH_MONITOR_WEIR_GRPC",
	)
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

// MonitorSSLAttributes defines how an HTTPS monitor uses TLS.
type MonitorSSLAttributes struct {
	SSLProfileRef  string `json:"ssl_profile_ref" ref:"sslprofile" default:"System-Standard"`
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

// MonitorCredentials are the credentials with which a monitor logs in.
type MonitorCredentials struct {
	Username string `json:"username" secret:"true"`
	Password string `json:"password" secret:"true"`
}

func (m *HealthMonitor) Validate() *schema.FieldError {
	checks := []func() *schema.FieldError{m.checkType, m.checkTexts, m.checkDNS, m.checkScript}
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
	}
	if need := needs[m.Type]; need.missing {
		return &schema.FieldError{Field: need.field, Problem: "is required by type " + m.Type}
	}
	return nil
}

func (m *HealthMonitor) checkTexts() *schema.FieldError {
	if m.HTTP != nil && len(m.HTTP.ResponseCodes) == 0 {
		return &schema.FieldError{Field: "http_monitor.http_response_code", Problem: "is empty; give at least one"}
	}
	if m.HTTPS != nil && len(m.HTTPS.ResponseCodes) == 0 {
		return &schema.FieldError{Field: "https_monitor.http_response_code", Problem: "is empty; give at least one"}
	}
	if m.GRPC != nil && m.GRPC.ServerName != "" && !hostName.MatchString(m.GRPC.ServerName) {
		return &schema.FieldError{Field: "weir_grpc_monitor.server_name",
			Problem: schema.Show(m.GRPC.ServerName) + " is not a host name"}
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
