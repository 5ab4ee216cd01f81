package model

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Content has the groups that an application profile names for what engines do to the content of responses, by
// reference: those that are there.
type Content struct {
	StringGroups  map[string]*kinds.StringGroup
	AddressGroups map[string]*kinds.IpAddrGroup
}

// resolveContent finds these groups.
func (k *Keeper) resolveContent(from *source, vs *VirtualService) {
	if vs.HTTP == nil || vs.HTTP.Compression == nil || !vs.HTTP.Compression.Enabled {
		return
	}
	vs.Content = &Content{map[string]*kinds.StringGroup{}, map[string]*kinds.IpAddrGroup{}}
	compression, field := vs.HTTP.Compression, "application_profile_ref.http_profile.compression_profile."
	texts := func(field, reference string) {
		if group := follow(from, k.stringGroups, field, reference); group != nil {
			vs.Content.StringGroups[reference] = group
		}
	}
	texts(field+"compressible_content_ref", compression.ContentRef)
	texts(field+"mobile_str_ref", compression.MobileRef)
	for i := range compression.Filters {
		filter, at := &compression.Filters[i], fmt.Sprintf("%sfilter[%d].", field, i)
		texts(at+"devices_ref", filter.DevicesRef)
		if group := follow(from, k.addressGroups, at+"ip_addrs_ref", filter.AddrsRef); group != nil {
			vs.Content.AddressGroups[filter.AddrsRef] = group
		}
	}
}
