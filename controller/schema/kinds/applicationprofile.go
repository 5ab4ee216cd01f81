package kinds

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ApplicationProfile defines how a virtual service treats the bytes of clients.
type ApplicationProfile struct {
	Identity
	Named
	Owned
	Description        string             `json:"description"`
	Markers            []Marker           `json:"markers"`
	CreatedBy          string             `json:"created_by"`
	Type               string             `json:"type" enum:"ApplicationProfileType" required:"true"`
	PreserveClientIP   bool               `json:"preserve_client_ip" default:"false"`
	PreserveClientPort bool               `json:"preserve_client_port" default:"false"`
	PreserveDestIPPort bool               `json:"preserve_dest_ip_port" default:"false"`
	AppServiceType     string             `json:"app_service_type" enum:"AppServiceType"`
	HTTP               *HTTPProfile       `json:"http_profile"`
	TCP                *TCPAppProfile     `json:"tcp_app_profile"`
	SSL                *L4SSLProfile      `json:"l4_ssl_profile"`
	DNSService         *DNSServiceProfile `json:"dns_service_profile"`
	DosRateLimit       *DosRateLimit      `json:"dos_rl_profile"`
}

func init() {
	schema.Register[ApplicationProfile](schema.Definition{
		Short:   []string{"app-profile"},
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Enum("TYPE", "APPLICATION_PROFILE_TYPE_", "type"),
		},
		Builtins: []schema.Object{
			{"name": "System-HTTP", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": schema.Object{}},
			{"name": "System-Secure-HTTP", "type": "APPLICATION_PROFILE_TYPE_HTTP",
				"http_profile": secureHTTP(schema.Object{})},
			{
				"name": "System-Secure-HTTP-VDI", "type": "APPLICATION_PROFILE_TYPE_HTTP",
				"http_profile": secureHTTP(schema.Object{"client_body_timeout": int64(0),
					"max_keepalive_requests": int64(0)}),
			},
			{"name": "System-L4-Application", "type": "APPLICATION_PROFILE_TYPE_L4",
				"tcp_app_profile": schema.Object{}},
			{"name": "System-SSL-Application", "type": "APPLICATION_PROFILE_TYPE_SSL",
				"tcp_app_profile": schema.Object{}},
			{"name": "System-DNS", "type": "APPLICATION_PROFILE_TYPE_DNS", "dns_service_profile": schema.Object{}},
			{"name": "System-Syslog", "type": "APPLICATION_PROFILE_TYPE_SYSLOG"},
		},
		Kept: []schema.Rule{
			schema.NoEffect(exactRates, eachRate("explicit_tracking fine_grain")),
			schema.NoEffect(ownLength, eachRate("action.file.file_length")),
			schema.NoEffect(noDNS, "dns_service_profile"),
			schema.NoEffect("engines do not speak SIP", "sip_service_profile"),
			schema.NoEffect("engines do not look into FTP", "tcp_app_profile.ftp_profile"),
			schema.NoEffect("engines choose the buffers and windows of their encoders themselves",
				"http_profile.compression_profile.buf_num http_profile.compression_profile.buf_size "+
					"http_profile.compression_profile.hash_size http_profile.compression_profile.window_size"),
			schema.NoEffect("a client's connection goes on when its server's ends, also where the two are bound together",
				"http_profile.fwd_close_hdr_for_bound_connections"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect("engines connect to servers from ports that the kernel chooses", "preserve_client_port"),
			schema.NoEffect("engines connect to the address and port of the server", "preserve_dest_ip_port"),
			schema.NoEffect("engines treat Horizon, Blast, PCoIP and FTP as all that is of the profile's type",
				"app_service_type"),
			schema.NoEffect("engines always take names of fields with dots, as RFC 9110 permits",
				"http_profile.allow_dots_in_header_name"),
			schema.NoEffect("engines pass on the parts of a body as they come, and join none",
				"http_profile.enable_chunk_merge"),
			schema.NoEffect("engines end the requests of a client that goes away",
				"http_profile.enable_fire_and_forget"),
			schema.NoEffect("engines do not count the parameters in bodies of requests",
				"http_profile.enable_request_body_metrics"),
			schema.NoEffect("engines act on no X-Accel field, and always pass them on",
				"http_profile.pass_through_x_accel_headers"),
			schema.NoEffect("engines choose the size of their buffers themselves",
				"http_profile.http_upstream_buffer_size"),
		},
	})
}

var (
	_ = schema.Enum("TrueClientIPDirection", "LEFT", "RIGHT")
	_ = schema.Enum("ApplicationProfileType",
		"APPLICATION_PROFILE_TYPE_L4", "APPLICATION_PROFILE_TYPE_HTTP", "APPLICATION_PROFILE_TYPE_SYSLOG",
		"APPLICATION_PROFILE_TYPE_DNS", "APPLICATION_PROFILE_TYPE_SSL", "APPLICATION_PROFILE_TYPE_SIP",
	)
	_ = schema.Enum("AppServiceType",
		"APP_SERVICE_TYPE_L7_HORIZON", "APP_SERVICE_TYPE_L4_BLAST", "APP_SERVICE_TYPE_L4_PCOIP",
		"APP_SERVICE_TYPE_L4_FTP",
	)
	_ = schema.Enum("DNSErrorResponse", "DNS_ERROR_RESPONSE_ERROR", "DNS_ERROR_RESPONSE_NONE")
	_ = schema.Enum("ProxyProtocolVersion", "PROXY_PROTOCOL_VERSION_1", "PROXY_PROTOCOL_VERSION_2")
	_ = schema.Enum("Underscores", "WEIR_UNDERSCORES_PASS", "WEIR_UNDERSCORES_DROP", "WEIR_UNDERSCORES_REFUSE")
	_ = schema.Enum("XFFUpdate", "REPLACE_XFF_HEADERS", "APPEND_TO_THE_XFF_HEADER", "ADD_NEW_XFF_HEADER")
)

// HTTPProfile is the treatment of HTTP. Times are in milliseconds and sizes in KiB; the names of the JSON fields do not
// say so.
type HTTPProfile struct {
	ConnectionMultiplexing bool `json:"connection_multiplexing_enabled" default:"true"`
	WebsocketsEnabled      bool `json:"websockets_enabled" default:"true"`
	RespondWith100Continue bool `json:"respond_with_100_continue" default:"true"`
	KeepaliveHeader        bool `json:"keepalive_header" default:"false"`
	UseAppKeepaliveTimeout bool `json:"use_app_keepalive_timeout" default:"false"`
	DetectNTLM             bool `json:"detect_ntlm_app" default:"true"`
	AllowDotsInHeaderName  bool `json:"allow_dots_in_header_name" default:"false"`
	EnableChunkMerge       bool `json:"enable_chunk_merge" default:"true"`
	EnableFireAndForget    bool `json:"enable_fire_and_forget" default:"false"`
	EnableRequestBodyStats bool `json:"enable_request_body_metrics" default:"false"`
	BuffersRequestBody     bool `json:"enable_request_body_buffering" default:"false"`
	PassThroughHeaders     bool `json:"pass_through_x_accel_headers" default:"false"`

	ClientHeaderTimeoutMs uint32 `json:"client_header_timeout" min:"10" max:"100000000" default:"10000"`
	ClientBodyTimeoutMs   uint32 `json:"client_body_timeout" max:"100000000" default:"30000"`
	KeepaliveTimeoutMs    uint32 `json:"keepalive_timeout" min:"10" max:"100000000" default:"30000"`
	PostAcceptTimeoutMs   uint32 `json:"post_accept_timeout" min:"10" max:"100000000" default:"30000"`
	MaxKeepaliveRequests  uint32 `json:"max_keepalive_requests" max:"1000000" default:"100"`

	ClientMaxHeaderKiB  uint32 `json:"client_max_header_size" min:"1" max:"64" default:"12"`
	ClientMaxRequestKiB uint32 `json:"client_max_request_size" min:"1" max:"256" default:"48"`
	ClientMaxBodyKiB    int64  `json:"client_max_body_size" min:"0" max:"2147483647" default:"0"`
	MaxResponseHeadKiB  uint32 `json:"max_response_headers_size" min:"1" max:"256" default:"48"`
	MaxHeaderCount      uint32 `json:"max_header_count" max:"4096" default:"256"`
	UpstreamBufferKiB   uint32 `json:"http_upstream_buffer_size" max:"256" default:"0"`

	HalfCloseTimeoutMs   uint32 `json:"weir_half_close_timeout" max:"100000000" default:"0"`
	RequestBufferKiB     uint32 `json:"weir_request_buffer_size" min:"1" max:"1024" default:"64"`
	ClosesServersOnError bool   `json:"close_server_side_connection_on_error" default:"false"`

	MinBodyBytesPerS uint32 `json:"weir_min_body_rate" max:"1000000000" default:"0"`

	XFFEnabled            bool          `json:"xff_enabled" default:"true"`
	XFFName               string        `json:"xff_alternate_name" default:"X-Forwarded-For"`
	XFFUpdate             string        `json:"xff_update" enum:"XFFUpdate" default:"REPLACE_XFF_HEADERS"`
	XForwardedProto       bool          `json:"x_forwarded_proto_enabled" default:"false"`
	UseTrueClientIP       bool          `json:"use_true_client_ip" default:"false"`
	TrueClientIP          *TrueClientIP `json:"true_client_ip"`
	SSLEverywhere         bool          `json:"ssl_everywhere_enabled" default:"false"`
	HTTPToHTTPS           bool          `json:"http_to_https" default:"false"`
	ServerRedirectToHTTPS bool          `json:"server_side_redirect_to_https" default:"false"`
	SecureCookies         bool          `json:"secure_cookie_enabled" default:"false"`
	HTTPOnlyCookies       bool          `json:"httponly_enabled" default:"false"`
	HSTSEnabled           bool          `json:"hsts_enabled" default:"false"`
	HSTSMaxAgeDays        uint64        `json:"hsts_max_age" max:"10000" default:"365"`
	HSTSSubdomains        bool          `json:"hsts_subdomains_enabled" default:"true"`
	NoSNIHostCheck        bool          `json:"disable_sni_hostname_check" default:"false"`
	ResetOnHTTPOnSSLPort  bool          `json:"reset_conn_http_on_ssl_port" default:"false"`
	ClientCertificateMode string        `json:"ssl_client_certificate_mode" enum:"ClientCertificateMode" default:"SSL_CLIENT_CERTIFICATE_NONE"`
	PKIProfileRef         string        `json:"pki_profile_ref" ref:"pkiprofile"` // signs the certificates of clients
	MaxBadRPSPerCIP       uint32        `json:"max_bad_rps_cip" min:"10" max:"1000" also:"0" default:"0"`
	MaxBadRPSPerCIPURI    uint32        `json:"max_bad_rps_cip_uri" min:"10" max:"1000" also:"0" default:"0"`
	MaxBadRPSPerURI       uint32        `json:"max_bad_rps_uri" min:"10" max:"1000" also:"0" default:"0"`
	MaxRPSPerCIP          uint32        `json:"max_rps_cip" min:"10" max:"1000" also:"0" default:"0"`
	MaxRPSPerCIPURI       uint32        `json:"max_rps_cip_uri" min:"10" max:"1000" also:"0" default:"0"`
	MaxRPSPerURI          uint32        `json:"max_rps_uri" min:"10" max:"1000" also:"0" default:"0"`
	MaxRPSUnknownCIP      uint32        `json:"max_rps_unknown_cip" min:"10" max:"1000" also:"0" default:"0"`
	MaxRPSUnknownURI      uint32        `json:"max_rps_unknown_uri" min:"10" max:"1000" also:"0" default:"0"`

	Underscores string `json:"weir_underscores_in_header_names" enum:"Underscores" default:"WEIR_UNDERSCORES_PASS"`

	Compression *CompressionProfile `json:"compression_profile"`
	Cache       *CacheConfig        `json:"cache_config"`
	HTTP2       *HTTP2Profile       `json:"http2_profile"`

	ClientCertificateAction *SSLClientCertificateAction `json:"ssl_client_certificate_action"`
}

// HTTP2Profile has the limits for HTTP/2 of clients.
type HTTP2Profile struct {
	MaxStreams          uint32 `json:"max_http2_concurrent_streams_per_connection" min:"1" max:"256" default:"128"`
	InitialWindowKiB    uint32 `json:"http2_initial_window_size" min:"64" max:"32768" default:"64"`
	MaxRequests         uint32 `json:"max_http2_requests_per_connection" max:"10000" default:"1000"`
	MaxControlFrames    uint32 `json:"max_http2_control_frames_per_connection" max:"10000" default:"1000"`
	MaxQueuedFrames     uint32 `json:"max_http2_queued_frames_to_client_per_connection" max:"10000" default:"1000"`
	MaxEmptyDataFrames  uint32 `json:"max_http2_empty_data_frames_per_connection" max:"10000" default:"1000"`
	MaxHeaderFieldBytes uint32 `json:"max_http2_header_field_size" min:"1" max:"8192" default:"4096"`
	ServerPush          bool   `json:"enable_http2_server_push" default:"false"`
	MaxPushes           uint32 `json:"max_http2_concurrent_pushes_per_connection" min:"1" max:"256" default:"10"`
}

// TCPAppProfile is the treatment of bytes that are not HTTP.
type TCPAppProfile struct {
	ProxyProtocolEnabled bool   `json:"proxy_protocol_enabled" default:"false"`
	ProxyProtocolVersion string `json:"proxy_protocol_version" enum:"ProxyProtocolVersion" default:"PROXY_PROTOCOL_VERSION_1"`

	ALPNProtocols []string `json:"weir_alpn_protocols" items:"16"`

	ClientCertificateMode string `json:"ssl_client_certificate_mode" enum:"ClientCertificateMode" default:"SSL_CLIENT_CERTIFICATE_NONE"`
	PKIProfileRef         string `json:"pki_profile_ref" ref:"pkiprofile"` // signs the certificates of clients
}

// L4SSLProfile is what profiles for layer 4 with TLS have alone.
type L4SSLProfile struct {
	StreamIdleS uint32 `json:"ssl_stream_idle_timeout" min:"60" max:"86400" default:"3600"`
}

// DNSServiceProfile is the treatment of DNS.
type DNSServiceProfile struct {
	DomainNames        []string `json:"domain_names"`
	EDNS               bool     `json:"edns" default:"true"`
	NumDNSIP           uint32   `json:"num_dns_ip" max:"20" default:"1"`
	TTL                uint32   `json:"ttl" max:"86400" default:"30"`
	DNSOverTCP         bool     `json:"dns_over_tcp_enabled" default:"true"`
	AAAAEmptyResponse  bool     `json:"aaaa_empty_response" default:"true"`
	NegativeCachingTTL uint32   `json:"negative_caching_ttl" max:"86400" default:"30"`
	ErrorResponse      string   `json:"error_response" enum:"DNSErrorResponse" default:"DNS_ERROR_RESPONSE_NONE"`
	ECSStripping       bool     `json:"ecs_stripping_enabled" default:"true"`
}

// RequestHeadKiB is the limit for a whole request head. client_max_header_size limits one header; if it is larger, it
// counts for the whole head, too.
func (p *HTTPProfile) RequestHeadKiB() uint32 {
	return max(p.ClientMaxRequestKiB, p.ClientMaxHeaderKiB)
}

// TrueClientIP says which header field of a request names its client.
type TrueClientIP struct {
	Headers   []string `json:"headers" items:"1"`
	Index     uint32   `json:"index_in_header" min:"1" max:"1000" default:"1"`
	Direction string   `json:"direction" enum:"TrueClientIPDirection" default:"LEFT"`
}

// Header is the name of the field.
func (t *TrueClientIP) Header() string {
	if len(t.Headers) == 0 {
		return "X-Forwarded-For"
	}
	return t.Headers[0]
}

// IsNamed tells whether the field can be in a request.
func (t *TrueClientIP) IsNamed() bool { return headerName(t.Header()) }

func (t *TrueClientIP) check(path string) *schema.FieldError {
	if t == nil || t.IsNamed() {
		return nil
	}
	return &schema.FieldError{Field: path + ".headers", Problem: schema.Show(t.Header()) + " is not a header name"}
}

// RequestBufferBytes is how much of a request body the data plane reads before it chooses a server.
func (p *HTTPProfile) RequestBufferBytes() uint32 {
	if !p.BuffersRequestBody {
		return 0
	}
	return p.RequestBufferKiB * 1024
}

func (p *ApplicationProfile) Validate() *schema.FieldError {
	if p.HTTP != nil && p.HTTP.XFFEnabled && !headerName(p.HTTP.XFFName) {
		return &schema.FieldError{
			Field:   "http_profile.xff_alternate_name",
			Problem: schema.Show(p.HTTP.XFFName) + " is not a header name",
		}
	}
	if p.HTTP != nil {
		const field = "http_profile.ssl_client_certificate_action"
		if problem := cmp.Or(p.HTTP.ClientCertificateAction.check(field),
			p.HTTP.TrueClientIP.check("http_profile.true_client_ip"),
			p.HTTP.Compression.check("http_profile.compression_profile"),
			p.HTTP.Cache.check("http_profile.cache_config")); problem != nil {
			return problem
		}
	}
	return cmp.Or(p.TCP.check(), p.DosRateLimit.check("dos_rl_profile"))
}

// check refuses names that are invalid in ALPN (RFC 7301 §3.1).
func (p *TCPAppProfile) check() *schema.FieldError {
	if p == nil {
		return nil
	}
	for i, name := range p.ALPNProtocols {
		if len(name) == 0 || len(name) > 255 {
			field := fmt.Sprintf("tcp_app_profile.weir_alpn_protocols[%d]", i)
			return &schema.FieldError{
				Field:   field,
				Problem: schema.Show(name) + " is not the name of a protocol: it must have 1 to 255 bytes",
			}
		}
	}
	return nil
}

// headerName tells whether text is a token of RFC 9110 §5.6.2.
func headerName(text string) bool {
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// secureHTTP turns on the settings that protect a site with TLS.
func secureHTTP(profile schema.Object) schema.Object {
	for _, name := range []string{
		"ssl_everywhere_enabled", "http_to_https", "server_side_redirect_to_https", "x_forwarded_proto_enabled",
		"hsts_enabled", "secure_cookie_enabled", "httponly_enabled",
	} {
		profile[name] = true
	}
	return profile
}
