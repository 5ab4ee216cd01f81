package kinds

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// VirtualService is an application as its clients see it: addresses, ports, profiles, certificates, and a pool.
type VirtualService struct {
	Identity
	Named
	Owned
	Clouded
	Description   string   `json:"description"`
	Markers       []Marker `json:"markers"`
	CreatedBy     string   `json:"created_by"`
	CloudChecksum string   `json:"cloud_config_cksum"`
	Metadata      string   `json:"service_metadata"`

	Enabled        bool      `json:"enabled" default:"true"`
	TrafficEnabled bool      `json:"traffic_enabled" default:"true"`
	Type           string    `json:"type" enum:"VirtualServiceType" default:"VS_TYPE_NORMAL"`
	VHType         string    `json:"vh_type" enum:"VirtualHostingType"`
	VHParentRef    string    `json:"vh_parent_vs_ref" ref:"virtualservice"`
	VHDomainNames  []string  `json:"vh_domain_name" items:"1024"`
	VHMatches      []VHMatch `json:"vh_matches" items:"1024"`

	Services []Service `json:"services" items:"2048"`
	VsVipRef string    `json:"vsvip_ref" ref:"vsvip"`
	Vips     []Vip     `json:"vip"`
	DNSInfo  []DNSInfo `json:"dns_info" items:"1000"`

	ApplicationProfileRef   string `json:"application_profile_ref" ref:"applicationprofile" default:"System-HTTP"`
	NetworkProfileRef       string `json:"network_profile_ref" ref:"networkprofile" default:"System-TCP-Proxy"`
	ServerNetworkProfileRef string `json:"server_network_profile_ref" ref:"networkprofile"`
	AnalyticsProfileRef     string `json:"analytics_profile_ref" ref:"analyticsprofile" default:"System-Analytics-Profile"`
	PoolRef                 string `json:"pool_ref" ref:"pool"`
	PoolGroupRef            string `json:"pool_group_ref" ref:"poolgroup"` // instead of a pool
	ErrorPagesRef           string `json:"error_page_profile_ref" ref:"errorpageprofile"`
	SEGroupRef              string `json:"se_group_ref" ref:"serviceenginegroup" default:"Default-Group"`
	VrfContextRef           string `json:"vrf_context_ref" ref:"vrfcontext" default:"global"`

	HTTPPolicies []HTTPPolicies        `json:"http_policies" items:"64"`
	DataScripts  []VSDataScripts       `json:"vs_datascripts" items:"64"`
	L4Policies   []L4Policies          `json:"l4_policies" items:"64"`
	ServicePools []ServicePoolSelector `json:"service_pool_select" items:"256"`

	ContentRewrite *ContentRewriteProfile `json:"content_rewrite"`

	NetworkSecurityPolicyRef string `json:"network_security_policy_ref" ref:"networksecuritypolicy"`

	SSLProfileRef string `json:"ssl_profile_ref" ref:"sslprofile"`
	// the first that a client matches has its profile instead
	SSLProfileSelectors     []SSLProfileSelector `json:"ssl_profile_selectors" items:"64"`
	CertificateRefs         []string             `json:"ssl_key_and_certificate_refs" ref:"sslkeyandcertificate"`
	SSLSessionCacheAvgSize  uint32               `json:"ssl_sess_cache_avg_size" min:"1024" max:"1048576" default:"1024"`
	AllowInvalidCertificate bool                 `json:"allow_invalid_client_cert" default:"false"`

	SSOPolicyRef string     `json:"sso_policy_ref" ref:"ssopolicy"`
	JWT          *JWTConfig `json:"jwt_config"`

	FlowDist              string   `json:"flow_dist" enum:"FlowDist" default:"LOAD_AWARE"`
	FlowLabelType         string   `json:"flow_label_type" enum:"FlowLabelType" default:"NO_LABEL"`
	ScaleoutECMP          bool     `json:"scaleout_ecmp" default:"false"`
	EnableRHI             bool     `json:"enable_rhi"`
	EnableRHISnat         bool     `json:"enable_rhi_snat"`
	BGPPeerLabels         []string `json:"bgp_peer_labels" items:"128"`
	BGPLocalPreference    uint32   `json:"bgp_local_preference"`
	BGPASPathPrepend      uint32   `json:"bgp_num_as_path_prepend" min:"1" max:"10"`
	AdvertiseDownVS       bool     `json:"advertise_down_vs" default:"false"`
	RemovePortWhenDown    bool     `json:"remove_listening_port_on_vs_down" default:"false"`
	MinPoolsUp            uint32   `json:"min_pools_up"`
	ActiveStandbySETag    string   `json:"active_standby_se_tag" enum:"ActiveStandbySETag" default:"ACTIVE_STANDBY_SE_1"`
	BulkSyncKVCache       bool     `json:"bulk_sync_kvcache" default:"false"`
	EastWestPlacement     bool     `json:"east_west_placement" default:"false"`
	IgnorePoolReach       bool     `json:"ign_pool_net_reach" default:"false"`
	CloudType             string   `json:"cloud_type" enum:"CloudType" default:"CLOUD_NONE"`
	UseBridgeIPAsVip      bool     `json:"use_bridge_ip_as_vip" default:"false"`
	EnableAutoGateway     bool     `json:"enable_autogw" default:"true"`
	SnatIPs               []IPAddr `json:"snat_ip" items:"32"`
	UseVipAsSnat          bool     `json:"use_vip_as_snat" default:"false"`
	CloseClientsOnChanges bool     `json:"close_client_conn_on_config_update" default:"false"`
	FQDN                  string   `json:"fqdn"`
	HostNameTranslation   string   `json:"host_name_xlate"`

	Weight               uint32             `json:"weight" min:"1" max:"128" default:"1"`
	DelayFairness        bool               `json:"delay_fairness" default:"false"`
	MaxCPSPerClient      uint32             `json:"max_cps_per_client" min:"10" max:"1000" also:"0" default:"0"`
	LimitDoser           bool               `json:"limit_doser" default:"false"`
	ConnectionsRateLimit *RateProfile       `json:"connections_rate_limit"`
	RequestsRateLimit    *RateProfile       `json:"requests_rate_limit"`
	PerformanceLimits    *PerformanceLimits `json:"performance_limits"`
	AnalyticsPolicy      *AnalyticsPolicy   `json:"analytics_policy"`
}

func init() {
	schema.Register[VirtualService](schema.Definition{
		SlowToCheck: true,
		Short:       []string{"vs"},
		Private:     true,
		Serving:     schema.IsService,
		FilledBy:    fillVirtualService,
		Columns: []column.Column{
			column.Of("VIP", vipOf),
			column.Of("PORTS", ports),
			column.Of("POOL", poolOrGroup),
			column.Of("SERVERS", poolServers),
			column.OperState,
			column.Health,
			column.PartOf("ENGINES", []string{"runtime", "num_se_assigned"}, []string{"runtime", "num_se_requested"}),
			column.Of("APPLIED", applied),
		},
		Beside:  []string{"vsvip", "pool", "poolgroup", "networkprofile"},
		Example: `  weir vs create web vsvip_ref=web-vip pool_ref=web services[0].port=80`,
		Kept: []schema.Rule{
			schema.Closes("engines have no application firewall yet", "waf_policy_ref"),
			schema.Closes("engines do not apply DNS policies yet", "dns_policies topology_policies"),
			schema.Closes("engines do not apply security policies yet", "security_policy_ref"),
			schema.Closes("engines authenticate clients by tokens only yet",
				"saml_sp_config oauth_vs_config ldap_vs_config"),
			schema.Closes("engines do not protect against forged requests yet", "csrf_policy_ref"),
			schema.Closes("engines do not detect bots yet", "bot_policy_ref"),
			schema.Closes("engines do not send requests to other services for inspection yet",
				"icap_request_profile_refs sideband_profile"),
			schema.Closes("engines do not restrict clients to groups of NSX", "nsx_securitygroup"),
			schema.Closes(noReputation, "vh_matches.rules.matches.ip_reputation_type"),
			schema.Closes(noBots, "vh_matches.rules.matches.bot_detection_result"),
			schema.Closes(noFingerprints, "vh_matches.rules.matches.tls_fingerprint_match"),
			schema.NoEffect(noInsights, "analytics_policy"),
			schema.NoEffect(exactRates, `requests_rate_limit.explicit_tracking requests_rate_limit.fine_grain
				connections_rate_limit.explicit_tracking connections_rate_limit.fine_grain`),
			schema.NoEffect(noDNS, "static_dns_records"),
			schema.NoEffect(noNames, "dns_info"),
			schema.NoEffect(noAllocation, "vip"),
			schema.NoEffect("engines connect to servers from their own address yet", "snat_ip6_addresses"),
			schema.NoEffect("engines do not copy requests to other servers yet", "traffic_clone_profile_ref"),
			schema.NoEffect("engines keep no sessions of clients", "enable_session"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: append([]schema.Rule{
			schema.NoEffect("engines change no pages to measure browsers", "analytics_policy.client_insights"),
			schema.NoEffect(alwaysFine, "analytics_policy.metrics_realtime_update"),
			unknownPlaces("vh_matches.rules.matches"),
			schema.NoEffect(noNames, "fqdn"),
			schema.NoEffect(noMesos, "use_bridge_ip_as_vip"),
			schema.NoEffect(noCloud, "cloud_type"),
			schema.NoEffect("clients keep their sessions of TLS themselves, as tickets", "ssl_sess_cache_avg_size"),
			schema.NoEffect("all engines of a virtual service resume the sessions of TLS of each other anyway, and "+
				"share the keys of limits; tables of DataScripts are those of one engine", "bulk_sync_kvcache"),
			schema.NoEffect("engines label no flows", "flow_label_type"),
			schema.NoEffect("routers spread connections over engines, engines do not", "scaleout_ecmp"),
			schema.NoEffect("virtual services are placed without regard to the networks of servers",
				"ign_pool_net_reach"),
			schema.NoEffect("answers to clients go by the routes of the engine's machine", "enable_autogw"),
		}, unreadOfVips...),
	})
}

var (
	_ = schema.Enum("ActiveStandbySETag", "ACTIVE_STANDBY_SE_1", "ACTIVE_STANDBY_SE_2")
	_ = schema.Enum("ClientInsights", "NO_INSIGHTS", "PASSIVE", "ACTIVE")
	_ = schema.Enum("FlowDist",
		"LOAD_AWARE", "CONSISTENT_HASH_SOURCE_IP_ADDRESS", "CONSISTENT_HASH_SOURCE_IP_ADDRESS_AND_PORT",
	)
	_ = schema.Enum("FlowLabelType", "NO_LABEL", "APPLICATION_LABEL", "SERVICE_LABEL")
	_ = schema.Enum("LocalResponseStatus",
		"HTTP_LOCAL_RESPONSE_STATUS_CODE_200", "HTTP_LOCAL_RESPONSE_STATUS_CODE_204",
		"HTTP_LOCAL_RESPONSE_STATUS_CODE_403", "HTTP_LOCAL_RESPONSE_STATUS_CODE_404",
		"HTTP_LOCAL_RESPONSE_STATUS_CODE_429", "HTTP_LOCAL_RESPONSE_STATUS_CODE_501",
	)
)

// Service is a port, or a range of ports, that a virtual service listens on.
type Service struct {
	Port                  uint32 `json:"port" min:"1" max:"65535" required:"true"`
	PortRangeEnd          uint32 `json:"port_range_end" min:"1" max:"65535" also:"0"` // 0: only port
	EnableSSL             bool   `json:"enable_ssl" default:"false"`
	EnableHTTP2           bool   `json:"enable_http2" default:"false"`
	ApplicationProfileRef string `json:"override_application_profile_ref" ref:"applicationprofile"`
	NetworkProfileRef     string `json:"override_network_profile_ref" ref:"networkprofile"`
}

// PerformanceLimits limits a virtual service as a whole.
type PerformanceLimits struct {
	MaxConcurrentConnections int32 `json:"max_concurrent_connections" min:"0"`
	MaxThroughput            int32 `json:"max_throughput" min:"0"` // Mbit/s of each engine, both directions together
}

// AnalyticsPolicy says what is recorded about a virtual service.
type AnalyticsPolicy struct {
	FullClientLogs         *FullClientLogs        `json:"full_client_logs"`
	MetricsRealtimeUpdate  *MetricsRealtimeUpdate `json:"metrics_realtime_update"`
	AllHeaders             bool                   `json:"all_headers" default:"false"`
	ClientInsights         string                 `json:"client_insights" enum:"ClientInsights" default:"NO_INSIGHTS"`
	SignificantLogThrottle uint32                 `json:"significant_log_throttle" default:"10"`
	UDFLogThrottle         uint32                 `json:"udf_log_throttle" default:"10"`
	Filters                []ClientLogFilter      `json:"client_log_filters" items:"64"`
}

// FullClientLogs records all requests, not only significant ones.
type FullClientLogs struct {
	Enabled  bool   `json:"enabled" required:"true"`
	Duration uint32 `json:"duration" default:"30"` // minutes; 0: without end
	Throttle uint32 `json:"throttle" default:"10"`
}

// MetricsRealtimeUpdate asks for a sample each second.
type MetricsRealtimeUpdate struct {
	Enabled  bool   `json:"enabled" required:"true"`
	Duration uint32 `json:"duration" default:"30"` // minutes; 0: without end
}

// fillVirtualService sets the end of each port range that has none to its port. It gives a virtual service with a TLS
// port a profile and a certificate if it names none, and a child with certificates a profile.
func fillVirtualService(o schema.Object) {
	tls := false
	for _, service := range objects(o["services"]) {
		if end, ok := service["port_range_end"]; !ok || end == int64(0) {
			service["port_range_end"] = service["port"]
		}
		tls = tls || service["enable_ssl"] == true
	}
	fillVips(o["vip"])
	certificates, _ := o["ssl_key_and_certificate_refs"].([]any)
	isSecureChild := o["type"] == vhChild && o["vh_type"] != vhEnhanced && len(certificates) > 0
	if !tls && !isSecureChild {
		return
	}
	if _, ok := o["ssl_profile_ref"]; !ok {
		o["ssl_profile_ref"] = "/api/sslprofile?name=System-Standard"
	}
	if len(certificates) == 0 {
		o["ssl_key_and_certificate_refs"] = []any{"/api/sslkeyandcertificate?name=System-Default-Cert"}
	}
}

func (vs *VirtualService) Validate() *schema.FieldError {
	if problem := vs.checkHosting(); problem != nil {
		return problem
	}
	if problem := vs.JWT.check(); problem != nil {
		return problem
	}
	if !vs.IsChild() {
		switch {
		case len(vs.Services) == 0:
			return &schema.FieldError{Field: "services", Problem: "is empty; give at least one port"}
		case vs.VsVipRef == "" && len(vs.Vips) == 0:
			return &schema.FieldError{Field: "vsvip_ref", Problem: "is required"}
		}
	}
	if vs.PoolRef != "" && vs.PoolGroupRef != "" {
		return refuse("pool_group_ref", "cannot be beside pool_ref: set one of them to null")
	}
	if problem := vs.checkPorts(); problem != nil {
		return problem
	}
	return cmp.Or(vs.AnalyticsPolicy.check(), vs.checkPolicies(), vs.checkL4Policies(), checkVips(vs.Vips),
		vs.ContentRewrite.check("content_rewrite"), vs.CheckSelectors(),
		vs.RequestsRateLimit.check("requests_rate_limit"),
		vs.ConnectionsRateLimit.checkOfConnections("connections_rate_limit"))
}

// checkPolicies refuses a list of sets of policies that has no order, or the same set twice.
func (vs *VirtualService) checkPolicies() *schema.FieldError {
	for i, policy := range vs.HTTPPolicies {
		at := fmt.Sprintf("http_policies[%d]", i)
		for j, earlier := range vs.HTTPPolicies[:i] {
			switch {
			case earlier.Index == policy.Index:
				return refuse(at+".index", "%d is the index of http_policies[%d] already: the order would be open",
					policy.Index, j)
			case earlier.SetRef == policy.SetRef:
				return refuse(at+".http_policy_set_ref", "is in http_policies[%d] already", j)
			}
		}
	}
	for i, scripts := range vs.DataScripts {
		at := fmt.Sprintf("vs_datascripts[%d]", i)
		for j, earlier := range vs.DataScripts[:i] {
			switch {
			case earlier.Index == scripts.Index:
				return refuse(at+".index", "%d is the index of vs_datascripts[%d] already: the order would be open",
					scripts.Index, j)
			case earlier.SetRef == scripts.SetRef:
				return refuse(at+".vs_datascript_set_ref", "is in vs_datascripts[%d] already", j)
			}
		}
	}
	return nil
}

// ScriptOrder returns the places of vs_datascripts in the order of their indexes.
func (vs *VirtualService) ScriptOrder() []int {
	return orderOf(len(vs.DataScripts), func(at int) uint32 { return vs.DataScripts[at].Index })
}

// PolicyOrder returns the places of http_policies in the order of their indexes.
func (vs *VirtualService) PolicyOrder() []int {
	return orderOf(len(vs.HTTPPolicies), func(at int) uint32 { return vs.HTTPPolicies[at].Index })
}

func (vs *VirtualService) checkPorts() *schema.FieldError {
	for i, service := range vs.Services {
		if service.PortRangeEnd < service.Port {
			return &schema.FieldError{
				Field:   fmt.Sprintf("services[%d].port_range_end", i),
				Problem: fmt.Sprintf("%d is before port %d", service.PortRangeEnd, service.Port),
			}
		}
		for j, earlier := range vs.Services[:i] {
			// The same port of another protocol is another port. Admission knows the protocols.
			mayDiffer := cmp.Or(service.NetworkProfileRef, vs.NetworkProfileRef) !=
				cmp.Or(earlier.NetworkProfileRef, vs.NetworkProfileRef)
			if service.Port <= earlier.PortRangeEnd && earlier.Port <= service.PortRangeEnd && !mayDiffer {
				return &schema.FieldError{
					Field:   fmt.Sprintf("services[%d].port", i),
					Problem: fmt.Sprintf("%d is already in services[%d]", max(service.Port, earlier.Port), j),
				}
			}
		}
	}
	return nil
}

// objects returns the objects of a list; nothing for any other value.
func objects(value any) []schema.Object {
	items, _ := value.([]any)
	found := make([]schema.Object, 0, len(items))
	for _, item := range items {
		if o, ok := item.(schema.Object); ok {
			found = append(found, o)
		}
	}
	return found
}

// ports returns the ports of a virtual service, each with what clients speak there beside plain TCP: "443/tls+h2".
func ports(row column.Row) string {
	var list []string
	for _, service := range column.List(row.Object, "services") {
		profile, known := row.Referred("network_profile_ref")
		if own, _ := column.At(service, "override_network_profile_ref").(string); own != "" {
			profile, known = row.ReferredBy(own)
		}
		isUDP := known && strings.HasPrefix(profile.Text("profile", "type"), "PROTOCOL_TYPE_UDP")
		port := column.Text(column.At(service, "port"))
		if end := column.Text(column.At(service, "port_range_end")); end != "" && end != port {
			port += "-" + end
		}
		var spoken []string
		for _, protocol := range []struct {
			name string
			on   bool
		}{
			{"udp", isUDP},
			{"tls", column.At(service, "enable_ssl") == true},
			{"h2", column.At(service, "enable_http2") == true},
		} {
			if protocol.on {
				spoken = append(spoken, protocol.name)
			}
		}
		if len(spoken) > 0 {
			port += "/" + strings.Join(spoken, "+")
		}
		list = append(list, port)
	}
	return strings.Join(list, ", ")
}

// vipOf returns the addresses of a virtual service, or else the name of its vsvip. A child has the addresses of its
// parent.
func vipOf(row column.Row) string {
	if parent := row.Text("vh_parent_vs_ref"); parent != "" {
		return "via " + parent
	}
	if vip, known := row.Referred("vsvip_ref"); known {
		return addresses(vip)
	}
	return row.Text("vsvip_ref")
}

func poolOrGroup(row column.Row) string {
	return cmp.Or(row.Text("pool_ref"), row.Text("pool_group_ref"))
}

func poolServers(row column.Row) string {
	if group, known := row.Referred("pool_group_ref"); known {
		pools, unread := members(group)
		if text := serversOf(pools...); unread == 0 {
			return text
		} else if len(pools) > 0 {
			return fmt.Sprintf("%s, %d of %d pools not read", text, unread, unread+len(pools))
		}
		return ""
	}
	if pool, known := row.Referred("pool_ref"); known {
		return serversOf(pool)
	}
	return ""
}

// members returns the rows of the pools of a group, and how many more it has, which the user may not read.
func members(group column.Row) (pools []column.Row, unread int) {
	for _, member := range column.List(group.Object, "members") {
		member, _ := member.(map[string]any)
		row := column.Row{Object: member, Others: group.Others, Now: group.Now}
		if pool, known := row.Referred("pool_ref"); known {
			pools = append(pools, pool)
		} else {
			unread++
		}
	}
	return pools, unread
}

func applied(row column.Row) string {
	return strings.TrimPrefix(row.Text("runtime", "applied", "text"), "applied ")
}
