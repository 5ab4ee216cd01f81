package schema

// HealthMonitor is how engines find out whether a server works.
type HealthMonitor struct {
	Identity
	Named
	Owned
	Description            string              `json:"description"`
	Markers                []Marker            `json:"markers"`
	Type                   string              `json:"type" enum:"HealthMonitorType" required:"true"`
	SendIntervalS          uint32              `json:"send_interval" min:"1" max:"3600" default:"10"`
	ReceiveTimeoutS        uint32              `json:"receive_timeout" min:"1" max:"2400" default:"4"`
	SuccessfulChecks       uint32              `json:"successful_checks" min:"1" max:"50" default:"2"`
	FailedChecks           uint32              `json:"failed_checks" min:"1" max:"50" default:"2"`
	MonitorPort            uint32              `json:"monitor_port" min:"1" max:"65535" also:"0"` // 0: that of the server
	AllowDuplicateMonitors bool                `json:"allow_duplicate_monitors" default:"false"`
	DisableQuickstart      bool                `json:"disable_quickstart" default:"false"`
	IsFederated            bool                `json:"is_federated" default:"false"`
	HTTP                   *HTTPMonitor        `json:"http_monitor"`
	HTTPS                  *HTTPMonitor        `json:"https_monitor"`
	TCP                    *TCPMonitor         `json:"tcp_monitor"`
	UDP                    *UDPMonitor         `json:"udp_monitor"`
	DNS                    *DNSMonitor         `json:"dns_monitor"`
	External               *ExternalMonitor    `json:"external_monitor"`
	Authentication         *MonitorCredentials `json:"authentication"`
}

// HTTPMonitor is one request, and the response that is healthy.
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

// MonitorSSLAttributes is how an HTTPS monitor speaks TLS.
type MonitorSSLAttributes struct {
	SSLProfileRef  string `json:"ssl_profile_ref" ref:"sslprofile" default:"System-Standard"`
	CertificateRef string `json:"ssl_key_and_certificate_ref" ref:"sslkeyandcertificate"`
	ServerName     string `json:"server_name"`
}

// TCPMonitor is a connection, and what may be said over it.
type TCPMonitor struct {
	Request             string `json:"tcp_request"`
	Response            string `json:"tcp_response"`
	MaintenanceResponse string `json:"maintenance_response"`
	HalfOpen            bool   `json:"tcp_half_open" default:"false"`
}

// UDPMonitor is a datagram, and the one that answers it.
type UDPMonitor struct {
	Request             string `json:"udp_request" required:"true"`
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

// ExternalMonitor is a script that prints something when the server works.
type ExternalMonitor struct {
	Code       string `json:"command_code" required:"true"`
	Parameters string `json:"command_parameters"`
	Path       string `json:"command_path"`
	Variables  string `json:"command_variables"`
}

// MonitorCredentials sign a monitor in.
type MonitorCredentials struct {
	Username string `json:"username" secret:"true"`
	Password string `json:"password" secret:"true"`
}

func (m *HealthMonitor) check() *FieldError {
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
		return &FieldError{Field: need.field, Problem: "is required by type " + m.Type}
	}
	if m.HTTP != nil && len(m.HTTP.ResponseCodes) == 0 {
		return &FieldError{Field: "http_monitor.http_response_code", Problem: "is empty; give at least one"}
	}
	if m.HTTPS != nil && len(m.HTTPS.ResponseCodes) == 0 {
		return &FieldError{Field: "https_monitor.http_response_code", Problem: "is empty; give at least one"}
	}
	if m.ReceiveTimeoutS > m.SendIntervalS {
		return &FieldError{Field: "receive_timeout", Problem: "is longer than send_interval; give at most that"}
	}
	return nil
}
