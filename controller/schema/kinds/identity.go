package kinds

import "github.com/weir-lb/weir/controller/schema"

// Identity has the fields that Weir gives to every object.
type Identity struct {
	UUID string `json:"uuid"`
	URL  string `json:"url" computed:"true"`
	// microseconds since 1970; a client sends it back to say which version it changes
	LastModified string              `json:"_last_modified"`
	Configpb     *ConfigpbAttributes `json:"configpb_attributes"`
	Warnings     []schema.Warning    `json:"weir_warnings" computed:"true"` // in the answer to a write
}

// ConfigpbAttributes is returned as it was sent, for clients that compare it.
type ConfigpbAttributes struct {
	Version uint32 `json:"version"`
}

// Named is part of objects with a name.
type Named struct {
	Name string `json:"name" required:"true"`
}

// Owned is part of objects that belong to a tenant. By default, that is the tenant of the request.
type Owned struct {
	TenantRef string `json:"tenant_ref" ref:"tenant"`
}

// Clouded is part of objects that belong to a cloud.
type Clouded struct {
	CloudRef string `json:"cloud_ref" ref:"cloud" default:"Default-Cloud"`
}

// Marker is a label on an object.
type Marker struct {
	Key    string   `json:"key" required:"true"`
	Values []string `json:"values"`
}
