package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ServiceEngineGroup is a set of engines: how many, how large, and how virtual services are placed on them.
type ServiceEngineGroup struct {
	Identity
	Named
	Owned
	Clouded
	Description   string     `json:"description"`
	Markers       []Marker   `json:"markers"`
	CloudChecksum string     `json:"cloud_config_cksum"`
	Labels        []KeyValue `json:"labels" items:"1"`

	HAMode              string   `json:"ha_mode" enum:"HAMode" default:"HA_MODE_SHARED"`
	PlacementAlgorithm  string   `json:"algo" enum:"PlacementAlgorithm" default:"PLACEMENT_ALGO_PACKED"`
	PlacementMode       string   `json:"placement_mode" enum:"PlacementMode" default:"PLACEMENT_MODE_AUTO"`
	BufferSE            uint32   `json:"buffer_se" max:"1000" default:"1"`
	MinScaleoutPerVS    uint32   `json:"min_scaleout_per_vs" min:"1" max:"64" default:"1"`
	MaxScaleoutPerVS    uint32   `json:"max_scaleout_per_vs" min:"1" max:"64" default:"4"`
	MinSE               uint32   `json:"min_se" max:"1000" default:"1"`
	MaxSE               uint32   `json:"max_se" max:"1000" default:"10"`
	MaxVSPerSE          uint32   `json:"max_vs_per_se" min:"1" max:"1000" default:"10"`
	VSHostRedundancy    bool     `json:"vs_host_redundancy" default:"true"`
	HMOnStandby         bool     `json:"hm_on_standby" default:"true"`
	PerApp              bool     `json:"per_app" default:"false"`
	DistributeStandby   bool     `json:"distribute_load_active_standby" default:"false"`
	RedistributeStandby bool     `json:"auto_redistribute_active_standby_load" default:"false"`
	FloatingIntfIPs     []IPAddr `json:"floating_intf_ip" items:"32"`
	ActiveStandby       bool     `json:"active_standby" default:"false"`
	HostAttributeKey    string   `json:"host_attribute_key"`
	HostAttributeValue  string   `json:"host_attribute_value"`

	AutoRebalance          bool     `json:"auto_rebalance" default:"false"`
	AutoRebalanceIntervalS uint32   `json:"auto_rebalance_interval" default:"300"`
	AutoRebalanceCriteria  []string `json:"auto_rebalance_criteria" enum:"RebalanceCriterion"`
	AutoRebalanceCapacity  []uint32 `json:"auto_rebalance_capacity_per_se"`
	MaxCPUUsage            uint32   `json:"max_cpu_usage" min:"40" max:"90" default:"80"`
	MinCPUUsage            uint32   `json:"min_cpu_usage" min:"20" max:"60" default:"30"`
	DeprovisionDelayMin    uint32   `json:"se_deprovision_delay" max:"525600" default:"120"`
	UseDPUtilForScaleout   bool     `json:"use_dp_util_for_scaleout" default:"false"`
	ScaleinTimeoutS        uint32   `json:"vs_scalein_timeout" default:"30"`
	ScaleoutTimeoutS       uint32   `json:"vs_scaleout_timeout" max:"600" default:"600"`
	ScaleoutReadyTimeoutS  uint32   `json:"vs_se_scaleout_ready_timeout" max:"60" default:"60"`
	SwitchoverTimeoutS     uint32   `json:"vs_switchover_timeout" default:"300"`

	VCPUs                      uint32 `json:"vcpus_per_se" min:"1" default:"1"`
	MemoryMiB                  uint32 `json:"memory_per_se" min:"2048" default:"2048"`
	DiskGiB                    uint32 `json:"disk_per_se" min:"1" default:"15"`
	NamePrefix                 string `json:"se_name_prefix" default:"Avi"`
	ConnectionMemoryPercentage uint32 `json:"connection_memory_percentage" min:"10" max:"90" default:"50"`
	AppCachePercent            uint32 `json:"app_cache_percent" max:"100" default:"10"`
	ExtraSharedConfigMiB       uint32 `json:"extra_shared_config_memory" max:"1000" default:"0"`

	DedicatedDispatcherCore bool          `json:"dedicated_dispatcher_core" default:"false"`
	NumDispatcherCores      uint32        `json:"num_dispatcher_cores" max:"16" default:"0"`
	NumDispatcherQueues     uint32        `json:"num_dispatcher_queues" max:"8" default:"1"`
	MaxQueuesPerVnic        uint32        `json:"max_queues_per_vnic" max:"16" default:"1"`
	DistributeQueues        bool          `json:"distribute_queues" default:"false"`
	DistributeVnics         bool          `json:"distribute_vnics" default:"false"`
	HybridRSSMode           bool          `json:"hybrid_rss_mode" default:"false"`
	MaxNumSEDPs             uint32        `json:"max_num_se_dps" min:"1" max:"128" also:"0"`
	HyperthreadedMode       string        `json:"se_hyperthreaded_mode" enum:"HyperthreadedMode" default:"SE_CPU_HT_AUTO"`
	UseHyperthreadedCores   bool          `json:"use_hyperthreaded_cores" default:"true"`
	CPUSocketAffinity       bool          `json:"cpu_socket_affinity" default:"false"`
	CPUReserve              bool          `json:"cpu_reserve" default:"false"`
	MemReserve              bool          `json:"mem_reserve" default:"true"`
	LeastLoadCoreSelection  bool          `json:"least_load_core_selection" default:"true"`
	SEDPIsolation           bool          `json:"se_dp_isolation" default:"false"`
	AsyncSSL                bool          `json:"async_ssl" default:"false"`
	AsyncSSLThreads         uint32        `json:"async_ssl_threads" min:"1" max:"16" default:"1"`
	VSSPlacement            *VSSPlacement `json:"vss_placement"`
	// a field of Weir's, not of Avi's
	WorkerPinning string `json:"weir_worker_pinning" enum:"WorkerPinning" default:"AUTO"`

	UseDPDK            uint32 `json:"se_use_dpdk" max:"2" default:"0"`
	DPDKPMD            uint32 `json:"se_dpdk_pmd" max:"2" default:"0"`
	PcapTxMode         string `json:"pcap_tx_mode" enum:"PcapTxMode" default:"PCAP_TX_AUTO"`
	DisableTSO         bool   `json:"disable_tso" default:"false"`
	DisableGRO         bool   `json:"disable_gro" default:"true"`
	DisableCsum        bool   `json:"disable_csum_offloads" default:"false"`
	LRO                bool   `json:"se_lro" default:"true"`
	MTU                uint32 `json:"se_mtu" min:"512" max:"9000"`
	TxBatchSize        uint32 `json:"se_tx_batch_size" min:"1" max:"64" default:"64"`
	TxQueueThreshold   uint32 `json:"se_txq_threshold" min:"256" max:"8192" default:"2048"`
	PathMTUDiscoveryV4 bool   `json:"path_mtu_discovery_v4" default:"true"`
	PathMTUDiscoveryV6 bool   `json:"path_mtu_discovery_v6" default:"true"`

	SelfSEElection            bool   `json:"self_se_election" default:"false"`
	DisableFlowProbes         bool   `json:"disable_flow_probes" default:"false"`
	FlowProbeRetries          uint32 `json:"se_flow_probe_retries" max:"5" default:"2"`
	FlowProbeRetryTimerMs     uint32 `json:"se_flow_probe_retry_timer" min:"20" max:"50" default:"40"`
	HeartbeatFrequencyMs      uint32 `json:"dp_hb_frequency" min:"50" max:"500" default:"100"`
	HeartbeatTimeoutCount     uint32 `json:"dp_hb_timeout_count" min:"3" max:"50" default:"10"`
	AggressiveHeartbeatMs     uint32 `json:"dp_aggressive_hb_frequency" min:"50" max:"500" default:"100"`
	AggressiveTimeoutCount    uint32 `json:"dp_aggressive_hb_timeout_count" min:"3" max:"50" default:"10"`
	AggressiveDetection       bool   `json:"aggressive_failure_detection" default:"false"`
	TunnelMode                uint32 `json:"se_tunnel_mode" max:"2" default:"0"`
	TunnelUDPPort             uint32 `json:"se_tunnel_udp_port" default:"1550"`
	UseObjsync                bool   `json:"use_objsync" default:"true"`
	ObjsyncPort               uint32 `json:"objsync_port" min:"1" max:"65535" default:"4001"`
	BGPPeerMonitorFailover    bool   `json:"bgp_peer_monitor_failover_enabled" default:"false"`
	BGPStateUpdateIntervalS   uint32 `json:"bgp_state_update_interval" min:"5" max:"100" default:"60"`
	FlowTableNewSynMaxEntries uint32 `json:"flow_table_new_syn_max_entries" default:"0"`
	DelayedFlowDelete         bool   `json:"se_delayed_flow_delete" default:"true"`
	HeartbeatMaxVSInPacket    uint32 `json:"se_vs_hb_max_vs_in_pkt" min:"1" max:"256" default:"256"`
	DPMaxHeartbeatVersion     uint32 `json:"se_dp_max_hb_version" min:"1" max:"3" default:"3"`

	SSLSessionCachePerVS     uint32 `json:"ssl_sess_cache_per_vs" min:"512" max:"65536" default:"4096"`
	SSLPreprocessSNI         bool   `json:"ssl_preprocess_sni_hostname" default:"true"`
	L7ConnsPerCore           uint32 `json:"l7_conns_per_core" default:"16384"`
	UpstreamConnpoolEnable   bool   `json:"upstream_connpool_enable" default:"true"`
	UpstreamConnectTimeoutMs uint32 `json:"upstream_connect_timeout" max:"2147483647" default:"3600000"`
	UpstreamReadTimeoutMs    uint32 `json:"upstream_read_timeout" max:"2147483647" default:"3600000"`
	UpstreamSendTimeoutMs    uint32 `json:"upstream_send_timeout" max:"2147483647" default:"3600000"`
	RequestsToDispatch       uint32 `json:"lbaction_num_requests_to_dispatch" default:"4"`

	SignificantLogThrottle    uint32                 `json:"significant_log_throttle" default:"100"`
	UDFLogThrottle            uint32                 `json:"udf_log_throttle" default:"100"`
	NonSignificantLogThrottle uint32                 `json:"non_significant_log_throttle" default:"100"`
	LogDiskMB                 uint32                 `json:"log_disksz" default:"10000"`
	LogStreamingThreads       uint32                 `json:"n_log_streaming_threads" min:"1" max:"100" default:"1"`
	LogNFEnqueuePercent       uint32                 `json:"se_dp_log_nf_enqueue_percent" max:"100" default:"70"`
	LogUDFEnqueuePercent      uint32                 `json:"se_dp_log_udf_enqueue_percent" max:"100" default:"90"`
	MetricsCollectionMode     uint32                 `json:"metrics_collection_mode" max:"1" default:"1"`
	RealtimeMetrics           *MetricsRealtimeUpdate `json:"realtime_se_metrics"`
	UserDefinedMetricAgeMin   uint32                 `json:"user_defined_metric_age" default:"60"`
}

func init() {
	schema.Register[ServiceEngineGroup](schema.Definition{
		Short:   []string{"seg", "engine-group"},
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Enum("HA MODE", "HA_MODE_", "ha_mode"),
			column.Between("ENGINES", "min_se", "max_se"),
			column.Between("PER VIRTUAL SERVICE", "min_scaleout_per_vs", "max_scaleout_per_vs"),
			column.Field("BUFFER", "buffer_se"),
			column.Field("CLOUD", "cloud_ref"),
		},
		Builtins: []schema.Object{
			{"name": "Default-Group"},
		},
		Kept: []schema.Rule{
			schema.Closes("engines set no packet filters", "iptables"),
			schema.NoEffect(noHSM, "hardwaresecuritymodulegroup_ref enable_hsm_*"),
			schema.NoEffect("what reaches an engine's machine is decided where that machine is",
				`ingress_access_data ingress_access_mgmt
				disable_avi_securitygroups custom_securitygroups_data custom_securitygroups_mgmt`),
			schema.NoEffect("engines have one limit for all scripts (docs/datascript.md)", "datascript_timeout"),
			schema.NoEffect("engines have no application firewall yet", "waf_mempool*"),
			schema.NoEffect(noLogs, "log_* se_log_* se_group_analytics_policy"),
			schema.NoEffect("limits are those of application profiles, virtual services and policies",
				"se_dos_profile handle_per_pkt_attack"),
			schema.NoEffect("engines give the counts of limits the memory that they need, up to a bound", "se_rl_prop"),
			schema.NoEffect(noCloud,
				`accelerated_networking availability_zone_refs custom_tag data_network_id gcp_config hypervisor
				instance_flavor* mgmt_network_ref mgmt_subnet openstack_* vcenter* vip_asg license_*`),
			schema.NoEffect(ownHardware, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect("the load of an engine is that of its data plane anyway", "use_dp_util_for_scaleout"),
		},
	})
}

var (
	_ = schema.Enum("HAMode", "HA_MODE_SHARED_PAIR", "HA_MODE_SHARED", "HA_MODE_LEGACY_ACTIVE_STANDBY")
	_ = schema.Enum("HyperthreadedMode",
		"SE_CPU_HT_AUTO", "SE_CPU_HT_SPARSE_DISPATCHER_PRIORITY", "SE_CPU_HT_SPARSE_PROXY_PRIORITY",
		"SE_CPU_HT_PACKED_CORES",
	)
	_ = schema.Enum("PcapTxMode", "PCAP_TX_AUTO", "PCAP_TX_SOCKET", "PCAP_TX_RING")
	_ = schema.Enum("PlacementAlgorithm", "PLACEMENT_ALGO_PACKED", "PLACEMENT_ALGO_DISTRIBUTED")
	_ = schema.Enum("PlacementMode", "PLACEMENT_MODE_AUTO")
	_ = schema.Enum("RebalanceCriterion",
		"SE_AUTO_REBALANCE_CPU", "SE_AUTO_REBALANCE_PPS", "SE_AUTO_REBALANCE_MBPS", "SE_AUTO_REBALANCE_OPEN_CONNS",
		"SE_AUTO_REBALANCE_CPS",
	)
	_ = schema.Enum("WorkerPinning", "AUTO", "ALWAYS", "NEVER")
)

// KeyValue is a label.
type KeyValue struct {
	Key   string `json:"key" required:"true"`
	Value string `json:"value"`
}

// VSSPlacement defines how virtual services share the cores of an engine.
type VSSPlacement struct {
	CoreNonaffinity uint32 `json:"core_nonaffinity" min:"1" max:"256" default:"2"`
	NumSubcores     uint32 `json:"num_subcores" min:"1" max:"128" default:"4"`
}

func (g *ServiceEngineGroup) Validate() *schema.FieldError {
	if g.MinScaleoutPerVS > g.MaxScaleoutPerVS {
		return &schema.FieldError{Field: "min_scaleout_per_vs", Problem: "is more than max_scaleout_per_vs"}
	}
	if g.MinSE > g.MaxSE {
		return &schema.FieldError{Field: "min_se", Problem: "is more than max_se"}
	}
	if g.MinCPUUsage >= g.MaxCPUUsage {
		return &schema.FieldError{Field: "min_cpu_usage", Problem: "is not less than max_cpu_usage"}
	}
	if !g.AutoRebalance {
		return nil
	}
	return g.checkRebalance()
}

// checkRebalance requires the capacity of an engine for each criterion except CPU time. Load is a share of the
// capacity, and Weir knows only the capacity in CPU time. Engines do not count packets.
func (g *ServiceEngineGroup) checkRebalance() *schema.FieldError {
	for i, criterion := range g.AutoRebalanceCriteria {
		at := fmt.Sprintf("auto_rebalance_criteria[%d]", i)
		switch {
		case criterion == "SE_AUTO_REBALANCE_PPS":
			return &schema.FieldError{Field: at,
				Problem: "engines do not count packets: take CPU, MBPS, OPEN_CONNS or CPS"}
		case criterion == "SE_AUTO_REBALANCE_CPU":
		case i >= len(g.AutoRebalanceCapacity) || g.AutoRebalanceCapacity[i] == 0:
			return &schema.FieldError{
				Field:   at,
				Problem: fmt.Sprintf("say in auto_rebalance_capacity_per_se[%d] how much of it one engine can take", i),
			}
		}
	}
	return nil
}
