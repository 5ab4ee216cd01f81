package kinds

import "github.com/weir-lb/weir/controller/schema"

// Identity is what Weir itself gives every object.
type Identity struct {
	UUID string `json:"uuid"`
	URL  string `json:"url" computed:"true"`
	// µs since 1970; sent back to say which version a change is of
	LastModified string              `json:"_last_modified"`
	Configpb     *ConfigpbAttributes `json:"configpb_attributes"`
	Warnings     []schema.Warning    `json:"weir_warnings" computed:"true"` // of the answer to a write
}

// ConfigpbAttributes is echoed for clients that compare it.
type ConfigpbAttributes struct {
	Version uint32 `json:"version"`
}

// Named objects are found by name within their tenant.
type Named struct {
	Name string `json:"name" required:"true"`
}

// Owned objects belong to a tenant; left out, it is the tenant of the request.
type Owned struct {
	TenantRef string `json:"tenant_ref" ref:"tenant"`
}

// Clouded objects belong to a cloud.
type Clouded struct {
	CloudRef string `json:"cloud_ref" ref:"cloud" default:"Default-Cloud"`
}

// Marker is a label on an object.
type Marker struct {
	Key    string   `json:"key" required:"true"`
	Values []string `json:"values"`
}
