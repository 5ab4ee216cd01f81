package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// NetworkProfile defines how a virtual service treats the transport protocol.
type NetworkProfile struct {
	Identity
	Named
	Owned
	Description      string                 `json:"description"`
	Markers          []Marker               `json:"markers"`
	ConnectionMirror bool                   `json:"connection_mirror" default:"false"`
	Profile          *NetworkProfileSetting `json:"profile" required:"true"`
}

func init() {
	schema.Register[NetworkProfile](schema.Definition{
		Short:   []string{"net-profile"},
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Enum("TYPE", "PROTOCOL_TYPE_", "profile", "type"),
		},
		Builtins: []schema.Object{
			networkProfile("System-TCP-Proxy", schema.Object{
				"type": "PROTOCOL_TYPE_TCP_PROXY", "tcp_proxy_profile": schema.Object{},
			}),
			networkProfile("System-TCP-Fast-Path", schema.Object{
				"type": "PROTOCOL_TYPE_TCP_FAST_PATH", "tcp_fast_path_profile": schema.Object{},
			}),
			networkProfile("System-UDP-Fast-Path", schema.Object{
				"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": schema.Object{},
			}),
			networkProfile("System-UDP-Per-Pkt", schema.Object{
				"type":                  "PROTOCOL_TYPE_UDP_FAST_PATH",
				"udp_fast_path_profile": schema.Object{"per_pkt_loadbalance": true},
			}),
			networkProfile("System-UDP-No-Snat", schema.Object{
				"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": schema.Object{"snat": false},
			}),
		},
		Kept: []schema.Rule{
			schema.NoEffect("engines do not speak SCTP", "profile.sctp_*"),
		},
		Unread: []schema.Rule{
			schema.NoEffect("engines do not mirror connections: those of an engine that fails end",
				"connection_mirror"),
			schema.NoEffect("the other settings count, whatever it is", "profile.tcp_proxy_profile.automatic"),
			schema.NoEffect("engines always complete the handshake with a client before they connect to a server",
				"profile.tcp_fast_path_profile.enable_syn_protection"),
			schema.NoEffect(
				"answers of servers pass through the engine, and no virtual service whose protocol has it is served",
				"profile.tcp_fast_path_profile.dsr_profile profile.udp_fast_path_profile.dsr_profile"),
		},
	})
}

var (
	_ = schema.Enum("CongestionControl", "CC_ALGO_NEW_RENO", "CC_ALGO_CUBIC", "CC_ALGO_HTCP")
	_ = schema.Enum("DSREncapsulation", "ENCAP_IPINIP", "ENCAP_GRE")
	_ = schema.Enum("DSRType", "DSR_TYPE_L2", "DSR_TYPE_L3")
	_ = schema.Enum("IdleConnectionType", "KEEP_ALIVE", "CLOSE_IDLE")
	_ = schema.Enum("ProtocolType",
		"PROTOCOL_TYPE_TCP_PROXY", "PROTOCOL_TYPE_TCP_FAST_PATH", "PROTOCOL_TYPE_UDP_FAST_PATH",
		"PROTOCOL_TYPE_UDP_PROXY", "PROTOCOL_TYPE_SCTP_PROXY", "PROTOCOL_TYPE_SCTP_FAST_PATH",
	)
)

// NetworkProfileSetting is a protocol and the profile of that protocol.
type NetworkProfileSetting struct {
	Type        string       `json:"type" enum:"ProtocolType" default:"PROTOCOL_TYPE_TCP_PROXY" required:"true"`
	TCPProxy    *TCPProxy    `json:"tcp_proxy_profile"`
	TCPFastPath *TCPFastPath `json:"tcp_fast_path_profile"`
	UDPFastPath *UDPFastPath `json:"udp_fast_path_profile"`
	UDPProxy    *UDPProxy    `json:"udp_proxy_profile"`
}

// TCPProxy ends the client's connection and opens another one to the server.
type TCPProxy struct {
	Automatic                 bool   `json:"automatic" default:"true"`
	IdleConnectionType        string `json:"idle_connection_type" enum:"IdleConnectionType" default:"KEEP_ALIVE"`
	IdleTimeoutS              uint32 `json:"idle_connection_timeout" min:"5" max:"14400" also:"0" default:"600"`
	KeepaliveInHalfClose      bool   `json:"keepalive_in_halfclose_state" default:"true"`
	IgnoreTimeWait            bool   `json:"ignore_time_wait" default:"false"`
	TimeWaitMs                uint32 `json:"time_wait_delay" min:"500" max:"2000" also:"0" default:"2000"`
	MaxRetransmissions        uint32 `json:"max_retransmissions" min:"3" max:"8" default:"8"`
	MaxSynRetransmissions     uint32 `json:"max_syn_retransmissions" min:"3" max:"8" default:"8"`
	MinRetransmitTimeoutMs    uint32 `json:"min_rexmt_timeout" min:"50" max:"5000"`
	AutoWindowGrowth          bool   `json:"auto_window_growth" default:"true"`
	ReceiveWindowKiB          uint32 `json:"receive_window" min:"2" max:"65536" default:"64"`
	NaglesAlgorithm           bool   `json:"nagles_algorithm" default:"false"`
	UseInterfaceMTU           bool   `json:"use_interface_mtu" default:"true"`
	MaxSegmentSize            uint32 `json:"max_segment_size" min:"512" max:"9000" also:"0"`
	CongestionControl         string `json:"cc_algo" enum:"CongestionControl" default:"CC_ALGO_NEW_RENO"`
	AggressiveAvoidance       bool   `json:"aggressive_congestion_avoidance" default:"false"`
	SlowStartScaling          uint32 `json:"slow_start_scaling_factor" max:"8" default:"1"`
	CongestionRecoveryScaling uint32 `json:"congestion_recovery_scaling_factor" max:"8" default:"2"`
	ReorderThreshold          uint32 `json:"reorder_threshold" min:"1" max:"100"`
	ReassemblyQueueSize       uint32 `json:"reassembly_queue_size" default:"0"`
	DSCP                      uint32 `json:"ip_dscp" max:"63" also:"2147483647" default:"0"`

	// ProxyProtocolSources are the subnets that clients come from, each connection with a PROXY header. With none,
	// connections have no such header.
	ProxyProtocolSources []IPAddrPrefix `json:"weir_proxy_protocol_sources" items:"64"`
}

// Validate checks the subnets.
func (p *NetworkProfile) Validate() *schema.FieldError {
	if p.Profile == nil || p.Profile.TCPProxy == nil {
		return nil
	}
	for i := range p.Profile.TCPProxy.ProxyProtocolSources {
		source := &p.Profile.TCPProxy.ProxyProtocolSources[i]
		here := fmt.Sprintf("profile.tcp_proxy_profile.weir_proxy_protocol_sources[%d]", i)
		if problem := source.problem(here); problem != nil {
			return problem
		}
	}
	return nil
}

// TCPFastPath forwards TCP packets without ending connections. Engines end them anyway.
type TCPFastPath struct {
	EnableSynProtection bool        `json:"enable_syn_protection" default:"false"`
	SessionIdleTimeoutS uint32      `json:"session_idle_timeout" min:"5" max:"14400" also:"0" default:"300"`
	DSR                 *DSRProfile `json:"dsr_profile"`
}

// Proxy returns the settings of a proxy that closes connections as the fast path does.
func (f *TCPFastPath) Proxy() *TCPProxy {
	proxy := schema.Defaults[TCPProxy]()
	proxy.IdleConnectionType, proxy.IdleTimeoutS = "CLOSE_IDLE", f.SessionIdleTimeoutS
	return proxy
}

// UDPFastPath forwards datagrams.
type UDPFastPath struct {
	PerPacketBalancing  bool        `json:"per_pkt_loadbalance" default:"false"`
	SessionIdleTimeoutS uint32      `json:"session_idle_timeout" min:"2" max:"3600" default:"10"`
	Snat                bool        `json:"snat" default:"true"`
	DSR                 *DSRProfile `json:"dsr_profile"`
}

// UDPProxy ends the client's flow and opens another one to the server.
type UDPProxy struct {
	SessionIdleTimeoutS uint32 `json:"session_idle_timeout" min:"2" max:"3600" default:"10"`
}

// DSRProfile lets servers answer clients directly.
type DSRProfile struct {
	Type          string `json:"dsr_type" enum:"DSRType" default:"DSR_TYPE_L3"`
	Encapsulation string `json:"dsr_encap_type" enum:"DSREncapsulation" default:"ENCAP_IPINIP"`
}

func networkProfile(name string, profile schema.Object) schema.Object {
	return schema.Object{"name": name, "profile": profile}
}
