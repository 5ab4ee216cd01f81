package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// unheeded is a setting on which engines do not act yet. An operator gets a warning if its value is not the default. A
// setting that has no effect and is in no table here would surprise operators.
type unheeded[T any] struct {
	field string
	set   func(*T) bool
	why   string
}

// unheededTable has the settings in one place of a kind of object.
type unheededTable[T any] struct {
	path     string // from the object to the settings: "http_profile.", "peers[%d]."
	settings []unheeded[T]
}

// declared has each setting of each table, so that docs/fields.md tells of all that there is a warning about.
var declared []declaration

type declaration struct{ kind, field, why string }

// declare makes a table of a kind of object.
func declare[T any](kind, path string, settings []unheeded[T]) unheededTable[T] {
	for _, setting := range settings {
		field := strings.ReplaceAll(path, "[%d]", "") + setting.field
		declared = append(declared, declaration{kind, field, setting.why})
	}
	return unheededTable[T]{path, settings}
}

const (
	noRequests    = "engines see no requests at layer 4: has no effect"
	noThroughput  = "engines do not limit the throughput of datagrams: has no effect"
	noConnections = "datagrams have no connections: has no effect"
	ofParent      = "clients connect to the parent: limit its connections there; has no effect"
	noShares      = "engines do not weigh virtual services against each other: has no effect"
	staysActive   = "of two engines the one that serves stays the active one, until a switchover: has no effect"
	kernels       = "the engine's kernel decides that: has no effect"
	passesDNS     = "engines pass DNS messages on as they are: has no effect"
)

var (
	usualVirtualService = schema.Defaults[kinds.VirtualService]()
	usualPool           = schema.Defaults[kinds.Pool]()
	usualTCPProxy       = schema.Defaults[kinds.TCPProxy]()
	usualFastPath       = schema.Defaults[kinds.TCPFastPath]()
	usualHTTP2OfPool    = schema.Defaults[kinds.HTTP2PoolProperties]()
	usualHTTP2          = schema.Defaults[kinds.HTTP2Profile]()
	usualTrueClient     = schema.Defaults[kinds.TrueClientIP]()
	usualDNS            = schema.Defaults[kinds.DNSServiceProfile]()
)

var unheededOfVirtualService = declare("virtualservice", "", []unheeded[model.VirtualService]{
	{"limit_doser", func(vs *model.VirtualService) bool { return vs.LimitDoser && vs.MaxCPSPerClient == 0 },
		"needs max_cps_per_client: has no effect"},
	{"requests_rate_limit", func(vs *model.VirtualService) bool {
		return vs.RequestsRateLimit != nil && vs.HTTP == nil
	}, noRequests},
	{"application_profile_ref", func(vs *model.VirtualService) bool {
		limits := rateLimits(vs.ApplicationProfile)
		return vs.HTTP != nil && len(vs.DataScripts) == 0 && limits != nil && limits.Custom != nil
	}, "custom_requests_rate_limit is for DataScripts that call avi.vs.rate_limit, and there are none: has no effect"},
	{"host_name_xlate", func(vs *model.VirtualService) bool {
		return vs.HostNameTranslation != "" && vs.HTTP == nil
	}, noRequests},
	{"content_rewrite.rsp_rewrite_rules.enable", func(vs *model.VirtualService) bool {
		return vs.ContentRewrite != nil && vs.HTTP != nil && vs.ContentRewrite.Sleeps()
	}, "is false: no text is replaced"},
	{"performance_limits.max_throughput", func(vs *model.VirtualService) bool {
		return vs.UDP != nil && limitsThroughput(vs)
	}, noThroughput},
	{"performance_limits.max_throughput", func(vs *model.VirtualService) bool {
		return vs.IsChild() && limitsThroughput(vs)
	}, "clients connect to the parent: limit its throughput there; has no effect"},
	{"snat_ip", func(vs *model.VirtualService) bool { return len(vs.SnatIPs) > 0 },
		"engines connect to servers from their own address yet: has no effect"},
	{"use_vip_as_snat", func(vs *model.VirtualService) bool { return vs.UseVipAsSnat },
		"engines connect to servers from their own address yet: has no effect"},
	{"enable_rhi_snat", func(vs *model.VirtualService) bool { return vs.EnableRHISnat },
		"engines connect to servers from their own address yet: has no effect"},
	{"close_client_conn_on_config_update", func(vs *model.VirtualService) bool { return vs.CloseClientsOnChanges },
		"engines keep connections over a change: has no effect"},
	{"flow_dist", func(vs *model.VirtualService) bool { return vs.FlowDist != usualVirtualService.FlowDist },
		"routers spread connections, engines do not: has no effect"},
	{"active_standby_se_tag", func(vs *model.VirtualService) bool {
		return vs.ActiveStandbySETag != usualVirtualService.ActiveStandbySETag
	}, staysActive},
	{"min_pools_up", func(vs *model.VirtualService) bool { return int(vs.MinPoolsUp) > len(vs.CountedPools()) },
		"is more than the number of its pools: it is never up"},
	{"weight", func(vs *model.VirtualService) bool { return vs.Weight > 1 }, noShares},
	{"delay_fairness", func(vs *model.VirtualService) bool { return vs.DelayFairness }, noShares},
	{"vh_domain_name", func(vs *model.VirtualService) bool { return !vs.IsChild() && len(vs.VHDomainNames) > 0 },
		"only a VS_TYPE_VH_CHILD is chosen by these names: has no effect"},
	{"server_network_profile_ref", func(vs *model.VirtualService) bool {
		return vs.ServerNetworkProfileRef != "" && vs.ServerNetworkProfileRef != vs.NetworkProfileRef
	}, "network_profile_ref is for servers, too: has no effect"},
})

var unheededOfConnections = declare("virtualservice", "", slices.Concat(
	ofConnections("connections_rate_limit", func(vs *model.VirtualService) bool {
		return vs.ConnectionsRateLimit != nil
	}),
	ofConnections("max_cps_per_client", func(vs *model.VirtualService) bool { return vs.MaxCPSPerClient > 0 }),
	ofConnections("application_profile_ref", func(vs *model.VirtualService) bool {
		limits := rateLimits(vs.ApplicationProfile)
		return limits != nil && limits.ClientIPConnections != nil
	}),
	ofConnections("performance_limits.max_concurrent_connections", func(vs *model.VirtualService) bool {
		return vs.PerformanceLimits != nil && vs.PerformanceLimits.MaxConcurrentConnections > 0
	}),
	staysOpen(),
))

var unheededOfPool = declare("pool", "", []unheeded[model.Pool]{
	{"max_conn_rate_per_server", func(p *model.Pool) bool {
		return p.MaxConnRatePerServer != nil &&
			(p.MaxConnRatePerServer.HTTPHeader != "" || p.MaxConnRatePerServer.HTTPCookie != "")
	}, "http_header and http_cookie are for limits of requests: connections to servers have none"},
	{"min_health_monitors_up", func(p *model.Pool) bool {
		return int(p.MinHealthMonitorsUp) > len(p.HealthMonitors)
	}, "is more than health_monitor_refs has: all of them must pass"},
	{"request_queue_enabled", func(p *model.Pool) bool {
		return p.RequestQueueEnabled && p.MaxConnectionsPerServer == 0 && p.MaxConnRatePerServer == nil
	}, "needs max_concurrent_connections_per_server or max_conn_rate_per_server: no request ever waits"},
	{"server_disable_type", func(p *model.Pool) bool {
		return p.ServerDisableType == keepsPersistent && !bindsClients(p) && !keptByAddress(p)
	}, "needs persistence by cookie, header field, client address or session of TLS: has no effect"},
	{"ignore_server_port", func(p *model.Pool) bool {
		return p.IgnoreServerPort && p.Algorithm != "LB_ALGORITHM_CONSISTENT_HASH" && !keptByAddress(p)
	}, "is for LB_ALGORITHM_CONSISTENT_HASH: has no effect"},
	{"lb_algo_rr_per_se", func(p *model.Pool) bool { return p.RoundRobinPerSE && p.Algorithm != roundRobin },
		"is for LB_ALGORITHM_ROUND_ROBIN: has no effect"},
	{"lb_algorithm_core_nonaffinity", func(p *model.Pool) bool {
		return p.CoreNonaffinity != usualPool.CoreNonaffinity && p.Algorithm != coreAffinity
	}, "is for LB_ALGORITHM_CORE_AFFINITY: has no effect"},
	{"fewest_tasks_feedback_delay", func(p *model.Pool) bool {
		return p.FewestTasksDelayS != usualPool.FewestTasksDelayS && p.Algorithm != fewestTasks
	}, "is for LB_ALGORITHM_FEWEST_TASKS: has no effect"},
	{"capacity_estimation", func(p *model.Pool) bool { return p.CapacityEstimation && !fillsServers(p) },
		"is for LB_ALGORITHM_FEWEST_SERVERS, which always estimates: has no effect"},
	{"capacity_estimation_ttfb_thresh", func(p *model.Pool) bool {
		return p.CapacityEstimationTTFBMs > 0 && !fillsServers(p)
	}, "is for LB_ALGORITHM_FEWEST_SERVERS: has no effect"},
	{"autoscale_policy_ref", func(p *model.Pool) bool {
		return p.AutoscalePolicyRef != "" && p.AutoscaleLaunchRef == ""
	}, "needs autoscale_launch_config_ref with weir_webhook_ref: nobody is asked for servers"},
	{"autoscale_launch_config_ref", func(p *model.Pool) bool {
		return p.AutoscaleLaunchRef != "" && p.AutoscalePolicyRef == ""
	}, "needs autoscale_policy_ref: has no effect"},
	{"http2_properties", func(p *model.Pool) bool { return p.HTTP2 != nil && !p.EnableHTTP2 },
		"needs enable_http2: has no effect"},
	{"servers.resolve_server_by_dns", func(p *model.Pool) bool {
		return slices.ContainsFunc(p.Servers, func(server kinds.Server) bool { return server.LacksName() })
	}, "needs a hostname that is a name: has no effect"},
	{"use_service_ssl_mode", func(p *model.Pool) bool { return p.UseServiceSSLMode && !p.UseServicePort },
		"needs use_service_port: has no effect"},
	{"lookup_server_by_name", func(p *model.Pool) bool { return p.LookupServerByName },
		"servers are known by address: has no effect"},
	{"append_port", func(p *model.Pool) bool {
		return p.AppendPort != "NON_DEFAULT_80_443" && !namesHosts(p) &&
			!slices.ContainsFunc(p.HealthMonitors, isAskedForHost)
	}, "is for rewrite_host_header, and for health monitors over HTTP: has no effect"},
	{"append_port", func(p *model.Pool) bool {
		return p.AppendPort == "ALWAYS" && p.UseServicePort && namesHosts(p)
	}, "is for the hosts in checks of health monitors: with use_service_port, Host has no port"},
	{"rewrite_host_header_to_sni", func(p *model.Pool) bool {
		return p.RewriteHostToSNI && (p.ServerName == "" || p.SSLProfile == nil)
	}, "there is no server_name for TLS to servers, whose name is that of the request: has no effect"},
})

var unheededOfApplicationProfile = declare("applicationprofile", "", []unheeded[kinds.ApplicationProfile]{
	{"preserve_client_ip", func(p *kinds.ApplicationProfile) bool { return p.PreserveClientIP },
		"engines connect to servers from their own address yet: use xff_enabled, or for UDP a network profile with " +
			"snat false"},
	{"l4_ssl_profile", func(p *kinds.ApplicationProfile) bool { return p.SSL != nil && p.Type != profileOfSSL },
		"is for " + profileOfSSL + ": has no effect"},
})

var unheededOfHTTP = declare("applicationprofile", "http_profile.", []unheeded[kinds.HTTPProfile]{
	{"compression_profile.filter", func(h *kinds.HTTPProfile) bool {
		c := h.Compression
		return c != nil && c.Enabled && !c.FiltersRequests() && len(c.Filters) > 0
	}, "is for CUSTOM_COMPRESSION: has no effect"},
	{"use_app_keepalive_timeout", func(h *kinds.HTTPProfile) bool {
		return h.UseAppKeepaliveTimeout && !h.KeepaliveHeader
	}, "needs keepalive_header: has no effect"},
	{"true_client_ip", func(h *kinds.HTTPProfile) bool { return h.TrueClientIP != nil && !h.UseTrueClientIP },
		"use_true_client_ip is false: has no effect"},
	{"true_client_ip", func(h *kinds.HTTPProfile) bool {
		return h.TrueClientIP != nil && h.UseTrueClientIP && !h.TrueClientIP.IsNamed()
	}, "the name in headers is none of a header field, so no request has it: clients are known by their connections"},
})

var unheededOfHTTP2 = declare("applicationprofile", "http_profile.http2_profile.", []unheeded[kinds.HTTP2Profile]{
	{"max_http2_queued_frames_to_client_per_connection", func(h *kinds.HTTP2Profile) bool {
		return h.MaxQueuedFrames != usualHTTP2.MaxQueuedFrames
	}, "engines stop reading a client that does not take its frames: has no effect"},
	{"max_http2_concurrent_pushes_per_connection", func(h *kinds.HTTP2Profile) bool {
		return h.MaxPushes != usualHTTP2.MaxPushes
	}, "engines push nothing: has no effect"},
	{"enable_http2_server_push", func(h *kinds.HTTP2Profile) bool { return h.ServerPush },
		"browsers take no pushes any more, and engines send none: has no effect"},
})

var unheededOfTCP = declare("networkprofile", tcpPath, []unheeded[kinds.TCPProxy]{
	unusualTCP("ignore_time_wait", func(t *kinds.TCPProxy) any { return t.IgnoreTimeWait }),
	unusualTCP("time_wait_delay", func(t *kinds.TCPProxy) any { return t.TimeWaitMs }),
	unusualTCP("max_retransmissions", func(t *kinds.TCPProxy) any { return t.MaxRetransmissions }),
	unusualTCP("max_syn_retransmissions", func(t *kinds.TCPProxy) any { return t.MaxSynRetransmissions }),
	unusualTCP("min_rexmt_timeout", func(t *kinds.TCPProxy) any { return t.MinRetransmitTimeoutMs }),
	unusualTCP("auto_window_growth", func(t *kinds.TCPProxy) any { return t.AutoWindowGrowth }),
	unusualTCP("receive_window", func(t *kinds.TCPProxy) any { return t.ReceiveWindowKiB }),
	unusualTCP("use_interface_mtu", func(t *kinds.TCPProxy) any { return t.UseInterfaceMTU }),
	unusualTCP("max_segment_size", func(t *kinds.TCPProxy) any { return t.MaxSegmentSize }),
	unusualTCP("cc_algo", func(t *kinds.TCPProxy) any { return t.CongestionControl }),
	unusualTCP("aggressive_congestion_avoidance", func(t *kinds.TCPProxy) any { return t.AggressiveAvoidance }),
	unusualTCP("slow_start_scaling_factor", func(t *kinds.TCPProxy) any { return t.SlowStartScaling }),
	unusualTCP("congestion_recovery_scaling_factor", func(t *kinds.TCPProxy) any {
		return t.CongestionRecoveryScaling
	}),
	unusualTCP("reorder_threshold", func(t *kinds.TCPProxy) any { return t.ReorderThreshold }),
	unusualTCP("reassembly_queue_size", func(t *kinds.TCPProxy) any { return t.ReassemblyQueueSize }),
	unusualTCP("ip_dscp", func(t *kinds.TCPProxy) any { return t.DSCP }),
})

func unusualTCP(field string, value func(*kinds.TCPProxy) any) unheeded[kinds.TCPProxy] {
	isSet := func(t *kinds.TCPProxy) bool { return value(t) != value(usualTCPProxy) }
	return unheeded[kinds.TCPProxy]{field, isSet, kernels}
}

var unheededOfDNS = declare("applicationprofile", "dns_service_profile.", []unheeded[kinds.DNSServiceProfile]{
	{"domain_names", func(d *kinds.DNSServiceProfile) bool { return len(d.DomainNames) > 0 }, passesDNS},
	unusualDNS("edns", func(d *kinds.DNSServiceProfile) any { return d.EDNS }),
	unusualDNS("num_dns_ip", func(d *kinds.DNSServiceProfile) any { return d.NumDNSIP }),
	unusualDNS("ttl", func(d *kinds.DNSServiceProfile) any { return d.TTL }),
	unusualDNS("dns_over_tcp_enabled", func(d *kinds.DNSServiceProfile) any { return d.DNSOverTCP }),
	unusualDNS("aaaa_empty_response", func(d *kinds.DNSServiceProfile) any { return d.AAAAEmptyResponse }),
	unusualDNS("negative_caching_ttl", func(d *kinds.DNSServiceProfile) any { return d.NegativeCachingTTL }),
	unusualDNS("error_response", func(d *kinds.DNSServiceProfile) any { return d.ErrorResponse }),
	unusualDNS("ecs_stripping_enabled", func(d *kinds.DNSServiceProfile) any { return d.ECSStripping }),
})

func unusualDNS(field string, value func(*kinds.DNSServiceProfile) any) unheeded[kinds.DNSServiceProfile] {
	isSet := func(d *kinds.DNSServiceProfile) bool { return value(d) != value(usualDNS) }
	return unheeded[kinds.DNSServiceProfile]{field, isSet, passesDNS}
}

// unheededOfTCPUnderHTTP has settings without effect under HTTP. At layer 4 they have one: the idle timeout closes
// tunnels.
var unheededOfTCPUnderHTTP = declare("networkprofile", tcpPath, []unheeded[kinds.TCPProxy]{
	{"idle_connection_type", func(t *kinds.TCPProxy) bool { return t.IdleConnectionType == "CLOSE_IDLE" },
		"only WebSockets are closed by it; other idle connections by the timeouts of the application profile"},
	{"keepalive_in_halfclose_state", func(t *kinds.TCPProxy) bool { return !t.KeepaliveInHalfClose },
		"http_profile.weir_half_close_timeout of the application profile decides about half-closed connections"},
})

var unheededOfNetworkProfile = declare("networkprofile", "profile.", []unheeded[kinds.NetworkProfileSetting]{
	{"type", func(s *kinds.NetworkProfileSetting) bool { return s.Type == fastPath },
		fastPath +
			" is served as PROTOCOL_TYPE_TCP_PROXY: engines end the connections of clients, and make others to " +
			"servers"},
})

var unheededOfFastPathUnderHTTP = declare("networkprofile", "profile.tcp_fast_path_profile.",
	[]unheeded[kinds.TCPFastPath]{
		{"session_idle_timeout", func(t *kinds.TCPFastPath) bool {
			return t.SessionIdleTimeoutS != usualFastPath.SessionIdleTimeoutS
		},
			"only WebSockets are closed by it; other idle connections by the timeouts of the application profile"},
	})

// warnUnheeded warns of the settings in one table. at has the places in the lists on the path to them.
func warnUnheeded[T any](about subject, table unheededTable[T], settings *T, report *report, at ...any) {
	for _, setting := range table.settings {
		if setting.set(settings) {
			report.warn(about, fmt.Sprintf(table.path, at...)+setting.field, "%s", setting.why)
		}
	}
}
