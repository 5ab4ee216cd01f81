package kinds

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// Pool is a set of servers, and how requests are distributed among them.
type Pool struct {
	Identity
	Named
	Owned
	Clouded
	Description   string   `json:"description"`
	Markers       []Marker `json:"markers"`
	CreatedBy     string   `json:"created_by"`
	CloudChecksum string   `json:"cloud_config_cksum"`
	Metadata      string   `json:"service_metadata"`

	Enabled bool     `json:"enabled" default:"true"`
	Servers []Server `json:"servers" items:"5000"`
	// its addresses are servers, too
	IPAddrGroupRef      string               `json:"ipaddrgroup_ref" ref:"ipaddrgroup"`
	DefaultServerPort   uint32               `json:"default_server_port" min:"1" max:"65535" default:"80"`
	HealthMonitorRefs   []string             `json:"health_monitor_refs" ref:"healthmonitor" items:"50"`
	InlineHealthMonitor bool                 `json:"inline_health_monitor" default:"true"`
	MinHealthMonitorsUp uint32               `json:"min_health_monitors_up" min:"1"`
	MinServersUp        uint32               `json:"min_servers_up"`
	VrfRef              string               `json:"vrf_ref" ref:"vrfcontext" default:"global"`
	Tier1LR             string               `json:"tier1_lr"`
	PoolType            string               `json:"pool_type" enum:"PoolType" default:"POOL_TYPE_GENERIC_APP"`
	RoutingPool         bool                 `json:"routing_pool" default:"false"`
	UseServicePort      bool                 `json:"use_service_port" default:"false"`
	UseServiceSSLMode   bool                 `json:"use_service_ssl_mode"`
	IgnoreServerPort    bool                 `json:"ignore_server_port" default:"false"`
	LookupServerByName  bool                 `json:"lookup_server_by_name" default:"false"`
	DeleteServersOnDNS  bool                 `json:"delete_server_on_dns_refresh" default:"true"`
	AnalyticsProfileRef string               `json:"analytics_profile_ref" ref:"analyticsprofile" default:"System-Analytics-Profile"`
	AnalyticsPolicy     *PoolAnalyticsPolicy `json:"analytics_policy"`

	Algorithm         string `json:"lb_algorithm" enum:"LbAlgorithm" default:"LB_ALGORITHM_LEAST_CONNECTIONS"`
	Hash              string `json:"lb_algorithm_hash" enum:"LbAlgorithmHash" default:"LB_ALGORITHM_CONSISTENT_HASH_SOURCE_IP_ADDRESS"`
	HashHeader        string `json:"lb_algorithm_consistent_hash_hdr"`
	RoundRobinPerSE   bool   `json:"lb_algo_rr_per_se" default:"false"`
	CoreNonaffinity   uint32 `json:"lb_algorithm_core_nonaffinity" min:"1" max:"65535" default:"2"`
	FewestTasksDelayS uint32 `json:"fewest_tasks_feedback_delay" min:"1" max:"300" default:"10"`

	PersistenceProfileRef string `json:"application_persistence_profile_ref" ref:"applicationpersistenceprofile"`
	AutoscalePolicyRef    string `json:"autoscale_policy_ref" ref:"serverautoscalepolicy"`
	AutoscaleLaunchRef    string `json:"autoscale_launch_config_ref" ref:"autoscalelaunchconfig"`

	ConnectionRampMin        uint32        `json:"connection_ramp_duration" max:"300" default:"10"`
	GracefulDisableMin       int32         `json:"graceful_disable_timeout" min:"-1" max:"7200" default:"1"`
	GracefulDownS            int32         `json:"graceful_hm_down_disable_timeout" min:"-1" max:"432000" default:"-1"`
	ServerDisableType        string        `json:"server_disable_type" enum:"ServerDisableType" default:"DISALLOW_NEW_CONNECTION"`
	MaxConnectionsPerServer  int32         `json:"max_concurrent_connections_per_server" min:"0" default:"0"`
	MaxConnRatePerServer     *RateProfile  `json:"max_conn_rate_per_server"`
	RequestQueueEnabled      bool          `json:"request_queue_enabled" default:"false"`
	RequestQueueDepth        uint32        `json:"request_queue_depth" default:"128"`
	ServerTimeoutMs          uint32        `json:"server_timeout" max:"21600000" default:"0"`
	CapacityEstimation       bool          `json:"capacity_estimation" default:"false"`
	CapacityEstimationTTFBMs uint32        `json:"capacity_estimation_ttfb_thresh" max:"5000" default:"0"`
	ConnPool                 *ConnPool     `json:"conn_pool_properties"`
	FailAction               *FailAction   `json:"fail_action"`
	ServerReselect           *Reselect     `json:"server_reselect"`
	PlacementNetworks        []PoolNetwork `json:"placement_networks" items:"10"`

	SSLProfileRef           string               `json:"ssl_profile_ref" ref:"sslprofile"`
	PKIProfileRef           string               `json:"pki_profile_ref" ref:"pkiprofile"`
	CertificateRef          string               `json:"ssl_key_and_certificate_ref" ref:"sslkeyandcertificate"`
	HostCheckEnabled        bool                 `json:"host_check_enabled" default:"false"`
	DomainNames             []string             `json:"domain_name" items:"100"`
	SNIEnabled              bool                 `json:"sni_enabled" default:"true"`
	ServerName              string               `json:"server_name"`
	EnableHTTP2             bool                 `json:"enable_http2" default:"false"`
	HTTP2                   *HTTP2PoolProperties `json:"http2_properties"`
	AppendPort              string               `json:"append_port" enum:"AppendPort" default:"NON_DEFAULT_80_443"`
	RewriteHostToSNI        bool                 `json:"rewrite_host_header_to_sni" default:"false"`
	RewriteHostToServerName bool                 `json:"rewrite_host_header_to_server_name" default:"false"`
}

func init() {
	schema.Register[Pool](schema.Definition{
		Private:  true,
		Serving:  schema.PartOfService,
		FilledBy: fillPool,
		Columns: []column.Column{
			column.Of("SERVERS", serversUp),
			column.Enum("ALGORITHM", "LB_ALGORITHM_", "lb_algorithm"),
			column.OperState,
			column.Health,
		},
		Example: `  weir pool create web servers[0].ip.addr=10.0.0.1 servers[0].port=8080 health_monitor_refs[0]=System-HTTP`,
		Unread: []schema.Rule{
			schema.NoEffect(alwaysFine, "analytics_policy.enable_realtime_metrics"),
			schema.NoEffect(ownRoutes, "vrf_ref placement_networks servers.verify_network"),
			schema.NoEffect(noNSX, "tier1_lr"),
			schema.NoEffect("engines have no pools of their own for authorization servers: it is a pool as any other",
				"pool_type"),
			schema.NoEffect("engines connect to servers, and route no packets through them", "routing_pool"),
			schema.NoEffect("an address that DNS does not name any more is no server any more",
				"delete_server_on_dns_refresh"),
			schema.NoEffect(noZones, "servers.availability_zone"),
		},
		Kept: []schema.Rule{
			schema.NoEffect("a pool has only the servers in the field servers, and those of ipaddrgroup_ref",
				"external_autoscale_groups networks nsx_securitygroup resolve_pool_by_dns"),
			schema.NoEffect("the webhook that makes a server chooses its network", "autoscale_networks"),
			schema.NoEffect("engines count each server exactly",
				"max_conn_rate_per_server.explicit_tracking max_conn_rate_per_server.fine_grain"),
			schema.NoEffect("engines count the bytes of a body themselves", "fail_action.local_rsp.file.file_length"),
			schema.NoEffect("Weir serves no sites", "gslb_sp_enabled sp_gs_info"),
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

var (
	_ = schema.Enum("AppendPort", "NON_DEFAULT_80_443", "NEVER", "ALWAYS")
	_ = schema.Enum("HTTPProtocol", "HTTP", "HTTPS")
	_ = schema.Enum("HTTPReselectBlock", "HTTP_RSP_4XX", "HTTP_RSP_5XX")
	_ = schema.Enum("LbAlgorithm",
		"LB_ALGORITHM_LEAST_CONNECTIONS", "LB_ALGORITHM_ROUND_ROBIN", "LB_ALGORITHM_FASTEST_RESPONSE",
		"LB_ALGORITHM_CONSISTENT_HASH", "LB_ALGORITHM_LEAST_LOAD", "LB_ALGORITHM_FEWEST_SERVERS",
		"LB_ALGORITHM_RANDOM", "LB_ALGORITHM_FEWEST_TASKS", "LB_ALGORITHM_NEAREST_SERVER",
		"LB_ALGORITHM_CORE_AFFINITY", "LB_ALGORITHM_TOPOLOGY",
	)
	_ = schema.Enum("LbAlgorithmHash",
		"LB_ALGORITHM_CONSISTENT_HASH_SOURCE_IP_ADDRESS", "LB_ALGORITHM_CONSISTENT_HASH_SOURCE_IP_ADDRESS_AND_PORT",
		"LB_ALGORITHM_CONSISTENT_HASH_URI", "LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER",
		"LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_STRING", "LB_ALGORITHM_CONSISTENT_HASH_CALLID",
	)
	_ = schema.Enum("PoolType", "POOL_TYPE_GENERIC_APP", "POOL_TYPE_OAUTH")
	_ = schema.Enum("RedirectStatus",
		"HTTP_REDIRECT_STATUS_CODE_301", "HTTP_REDIRECT_STATUS_CODE_302", "HTTP_REDIRECT_STATUS_CODE_307",
	)
	_ = schema.Enum("ServerDisableType", "DISALLOW_NEW_CONNECTION", "ALLOW_NEW_CONNECTION_IF_PERSISTENCE_PRESENT")
)

// HTTP2PoolProperties has the limits for HTTP/2 of servers.
type HTTP2PoolProperties struct {
	MaxControlFrames    uint32 `json:"max_http2_control_frames_per_connection" max:"10000"` // 0: no limit
	MaxHeaderFieldBytes uint32 `json:"max_http2_header_field_size" min:"1" max:"8192" default:"4096"`
}

// Server is a member of a pool.
type Server struct {
	IP                *IPAddr `json:"ip" required:"true"`
	Port              uint32  `json:"port" min:"1" max:"65535" also:"0"` // 0: the port of the pool
	Hostname          string  `json:"hostname"`
	Description       string  `json:"description"`
	Enabled           bool    `json:"enabled" default:"true"`
	Ratio             uint32  `json:"ratio" min:"1" max:"20" default:"1"`
	ResolveByDNS      bool    `json:"resolve_server_by_dns" default:"false"`
	RewriteHostHeader bool    `json:"rewrite_host_header" default:"false"`
	PersistenceHeader string  `json:"prst_hdr_val"`
	VerifyNetwork     bool    `json:"verify_network" default:"false"`
	Static            bool    `json:"static" default:"false"`
	AvailabilityZone  string  `json:"availability_zone"`
	ExternalUUID      string  `json:"external_uuid"`
	MacAddress        string  `json:"mac_address"`
}

// ConnPool limits the idle connections to servers.
type ConnPool struct {
	IdleTimeoutMs uint32 `json:"upstream_connpool_conn_idle_tmo" max:"86400000" default:"60000"`
	LifetimeMs    uint32 `json:"upstream_connpool_conn_life_tmo" max:"86400000" default:"600000"`
	MaxReuse      uint32 `json:"upstream_connpool_conn_max_reuse" default:"0"`
	MaxPerServer  uint32 `json:"upstream_connpool_server_max_cache" default:"0"`
}

// Reselect tries another server after some responses.
type Reselect struct {
	Enabled            bool           `json:"enabled" default:"false" required:"true"`
	NumRetries         uint32         `json:"num_retries" default:"4"`
	RetryNonidempotent bool           `json:"retry_nonidempotent" default:"false"`
	RetryTimeoutMs     uint32         `json:"retry_timeout" max:"3600000" default:"0"`
	ResponseCodes      *ReselectCodes `json:"svr_resp_code"`
}

// ReselectCodes are the status codes after which the data plane tries another server.
type ReselectCodes struct {
	Codes  []uint32        `json:"codes" min:"400" max:"599"`
	Ranges []ReselectRange `json:"ranges"`
	Blocks []string        `json:"resp_code_block" enum:"HTTPReselectBlock"`
}

// ReselectRange is a range of status codes.
type ReselectRange struct {
	Begin uint32 `json:"begin" min:"400" max:"599" required:"true"`
	End   uint32 `json:"end" min:"400" max:"599" required:"true"`
}

// PoolNetwork is a subnet that the servers are in.
type PoolNetwork struct {
	Subnet *IPAddrPrefix `json:"subnet" required:"true"`
}

// PoolAnalyticsPolicy says what is recorded about a pool.
type PoolAnalyticsPolicy struct {
	EnableRealtimeMetrics bool `json:"enable_realtime_metrics" default:"false"`
}

const alwaysFine = "metrics have a sample each 5 s, and live pages one each second, whatever this says"

// fillPool names each server after its address.
func fillPool(o schema.Object) {
	for _, server := range objects(o["servers"]) {
		ip, _ := server["ip"].(schema.Object)
		if _, ok := server["hostname"]; !ok {
			server["hostname"] = ip["addr"]
		}
	}
}

// NameOfServer returns the name whose addresses a server of a pool has. Empty: it has the address in ip.
func NameOfServer(server schema.Object) string {
	ip, _ := server["ip"].(schema.Object)
	address, _ := ip["addr"].(string)
	hostname, _ := server["hostname"].(string)
	switch {
	case ip["type"] == "DNS":
		return address
	case server["resolve_server_by_dns"] == true && hostName.MatchString(hostname):
		return hostname
	}
	return ""
}

// LacksName tells whether the server is to be resolved, and has no name.
func (s *Server) LacksName() bool {
	return s.ResolveByDNS && s.IP.Type != "DNS" && !hostName.MatchString(s.Hostname)
}

func (p *Pool) Validate() *schema.FieldError {
	owner := map[string]int{}
	for i := range p.Servers {
		server := &p.Servers[i]
		here := fmt.Sprintf("servers[%d]", i)
		if problem := server.IP.problem(here + ".ip"); problem != nil {
			return problem
		}
		// What DNS says of a name is no fault of whoever writes the pool.
		if why := noServer(server.IP, server.PortOr(p.DefaultServerPort)); why != "" && !server.ResolveByDNS {
			return refuse(here+".ip.addr", "%s", why)
		}
		id := server.ID(p.DefaultServerPort)
		if earlier, taken := owner[id]; taken {
			return &schema.FieldError{Field: here, Problem: fmt.Sprintf("%s is already servers[%d]", id, earlier)}
		}
		owner[id] = i
	}
	if p.hashesHeader() && p.HashHeader == "" {
		return &schema.FieldError{
			Field:   "lb_algorithm_consistent_hash_hdr",
			Problem: "is required by lb_algorithm_hash LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER",
		}
	}
	return cmp.Or(p.checkReselect(), p.checkNames(), p.FailAction.check("fail_action"),
		p.MaxConnRatePerServer.checkOfServers(ServerConnectionRate))
}

// ServerConnectionRate is the field that limits connections to each server.
const ServerConnectionRate = "max_conn_rate_per_server"

func (p *Pool) checkReselect() *schema.FieldError {
	if p.ServerReselect == nil || p.ServerReselect.ResponseCodes == nil {
		return nil
	}
	for i, span := range p.ServerReselect.ResponseCodes.Ranges {
		if span.End < span.Begin {
			return &schema.FieldError{
				Field:   fmt.Sprintf("server_reselect.svr_resp_code.ranges[%d].end", i),
				Problem: fmt.Sprintf("%d is before begin %d", span.End, span.Begin),
			}
		}
	}
	return nil
}

// checkNames checks the host names of servers.
func (p *Pool) checkNames() *schema.FieldError {
	if p.ServerName != "" && !hostName.MatchString(p.ServerName) {
		return &schema.FieldError{Field: "server_name", Problem: schema.Show(p.ServerName) + " is not a host name"}
	}
	for i, name := range p.DomainNames {
		if !hostName.MatchString(name) {
			return &schema.FieldError{
				Field:   fmt.Sprintf("domain_name[%d]", i),
				Problem: schema.Show(name) + " is not a host name",
			}
		}
	}
	return nil
}

func (p *Pool) hashesHeader() bool {
	return p.Algorithm == "LB_ALGORITHM_CONSISTENT_HASH" && p.Hash == "LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER"
}

// ID identifies a server within its pool: "10.0.0.1:80", "[2001:db8::1]:80".
func (s *Server) ID(defaultPort uint32) string {
	port := s.PortOr(defaultPort)
	if address := s.IP.Address(); address.IsValid() {
		return netip.AddrPortFrom(address, uint16(port)).String()
	}
	return fmt.Sprintf("%s:%d", s.IP.Addr, port)
}

// PortOr returns the server's own port, or else the default.
func (s *Server) PortOr(defaultPort uint32) uint32 {
	if s.Port != 0 {
		return s.Port
	}
	return defaultPort
}

func serversUp(row column.Row) string { return serversOf(row) }

// serversOf adds up the servers of pools.
func serversOf(pools ...column.Row) string {
	up, all := 0, 0
	for _, pool := range pools {
		poolUp, isKnown := column.At(pool.Object, "runtime", "num_servers_up").(float64)
		if !isKnown {
			return "- of - up" // not yet
		}
		poolAll, _ := column.At(pool.Object, "runtime", "num_servers").(float64)
		up, all = up+int(poolUp), all+int(poolAll)
	}
	return fmt.Sprintf("%d of %d up", up, all)
}
