package schema

// VrfContext is a routing table of its own.
type VrfContext struct {
	Identity
	Named
	Owned
	Clouded
	Description   string        `json:"description"`
	Markers       []Marker      `json:"markers"`
	SystemDefault bool          `json:"system_default" default:"false"`
	LLDPEnable    bool          `json:"lldp_enable" default:"true"`
	StaticRoutes  []StaticRoute `json:"static_routes" items:"1000"`
}

// StaticRoute sends a prefix to a next hop.
type StaticRoute struct {
	Prefix  *IPAddrPrefix `json:"prefix" required:"true"`
	NextHop *IPAddr       `json:"next_hop" required:"true"`
	RouteID string        `json:"route_id" required:"true"`
	IfName  string        `json:"if_name"`
	Labels  []KeyValue    `json:"labels" items:"1"`
}
