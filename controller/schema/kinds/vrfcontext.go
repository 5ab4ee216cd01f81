package kinds

import "github.com/weir-lb/weir/controller/schema"

// VrfContext is a separate routing table, and how engines announce the addresses in it to routers.
type VrfContext struct {
	Identity
	Named
	Owned
	Clouded
	Description            string                  `json:"description"`
	Markers                []Marker                `json:"markers"`
	SystemDefault          bool                    `json:"system_default" default:"false"`
	LLDPEnable             bool                    `json:"lldp_enable" default:"true"`
	StaticRoutes           []StaticRoute           `json:"static_routes" items:"1000"`
	GatewayMonitors        []GatewayMonitor        `json:"gateway_mon" items:"128"`
	InternalGatewayMonitor *InternalGatewayMonitor `json:"internal_gateway_monitor"`
	BGP                    *BGPProfile             `json:"bgp_profile"`
	BFD                    *BFDProfile             `json:"bfd_profile"`
}

func init() {
	schema.Register[VrfContext](schema.Definition{
		Builtins: []schema.Object{{"name": "global", "system_default": true},
			{"name": "management", "system_default": true}},
		Kept: []schema.Rule{
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

// StaticRoute sends a prefix to a next hop.
type StaticRoute struct {
	Prefix  *IPAddrPrefix `json:"prefix" required:"true"`
	NextHop *IPAddr       `json:"next_hop" required:"true"`
	RouteID string        `json:"route_id" required:"true"`
	IfName  string        `json:"if_name"`
	Labels  []KeyValue    `json:"labels" items:"1"`
}

// GatewayMonitor defines how engines watch one gateway.
type GatewayMonitor struct {
	GatewayIP        *IPAddr       `json:"gateway_ip" required:"true"`
	Subnet           *IPAddrPrefix `json:"subnet"` // through which a distant gateway is reached
	IntervalMs       uint32        `json:"gateway_monitor_interval" min:"100" max:"60000" default:"1000"`
	FailThreshold    uint32        `json:"gateway_monitor_fail_threshold" min:"3" max:"50" default:"10"`
	SuccessThreshold uint32        `json:"gateway_monitor_success_threshold" min:"3" max:"50" default:"15"`
}

// InternalGatewayMonitor defines how engines watch default gateways. They watch all of them unless it is disabled.
type InternalGatewayMonitor struct {
	Disabled         bool   `json:"disable_gateway_monitor" default:"false"`
	IntervalMs       uint32 `json:"gateway_monitor_interval" min:"100" max:"60000" default:"1000"`
	FailureThreshold uint32 `json:"gateway_monitor_failure_threshold" min:"3" max:"50" default:"10"`
	SuccessThreshold uint32 `json:"gateway_monitor_success_threshold" min:"3" max:"50" default:"15"`
}

// BFDProfile defines how fast engines and routers notice that the other is gone. Avi accepts intervals from 500 ms on.
// Weir also accepts shorter ones, from 50 ms on. Without this profile, it uses 300 ms (plan).
type BFDProfile struct {
	MinTxMs    uint32 `json:"mintx" min:"50" max:"4000000" default:"1000"`
	MinRxMs    uint32 `json:"minrx" min:"50" max:"4000000" default:"1000"`
	Multiplier uint32 `json:"multi" min:"3" max:"255" default:"3"`
}

func (v *VrfContext) Validate() *schema.FieldError {
	if v.BGP == nil {
		return nil
	}
	return v.BGP.check("bgp_profile.")
}
