package model

import (
	"fmt"
	"maps"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Content has the groups that a virtual service and its application profile name for what engines do to the content of
// responses, by reference: those that are there.
type Content struct {
	StringGroups  map[string]*kinds.StringGroup
	AddressGroups map[string]*AddressGroup
}

const (
	ownProfile      = "application_profile_ref"
	rewritableTypes = "content_rewrite.rewritable_content_ref"
)

// resolveContent finds these groups, for requests under the application profile that a field names. nil: nothing is
// done to the content of responses.
func (k *Keeper) resolveContent(
	from *source, field string, profile *kinds.ApplicationProfile, rewrite *kinds.ContentRewriteProfile,
) *Content {
	http := httpOf(profile)
	if http == nil {
		return nil
	}
	compresses := http.Compression != nil && http.Compression.Enabled
	caches := http.Cache != nil && http.Cache.Enabled
	if !compresses && !caches && rewrite == nil {
		return nil
	}
	field += ".http_profile."
	content := &Content{map[string]*kinds.StringGroup{}, map[string]*AddressGroup{}}
	if rewrite != nil {
		reference := rewrite.TypesRef()
		if group := follow(from, k.stringGroups, rewritableTypes, reference); group != nil {
			content.StringGroups[reference] = group
		}
	}
	if compresses {
		k.resolveCompression(from, field+"compression_profile.", content, http.Compression)
	}
	if caches {
		k.resolveCache(from, field+"cache_config.", content, http.Cache)
	}
	return content
}

// resolveFilters finds the groups of the filters and rules of logs that are in force. A group that closes virtual
// services closes none because of a filter: it is left out.
func (k *Keeper) resolveFilters(from *source, vs *VirtualService) {
	found := Content{map[string]*kinds.StringGroup{}, map[string]*AddressGroup{}}
	var filters []kinds.ClientLogFilter
	if vs.AnalyticsPolicy != nil {
		filters = vs.AnalyticsPolicy.Filters
	}
	for i, filter := range filters {
		field := fmt.Sprintf("analytics_policy.client_log_filters[%d].", i)
		if filter.Enabled && filter.ClientIP != nil {
			followInto(from, k.addressGroups, field+"client_ip.group_refs", filter.ClientIP.GroupRefs,
				found.AddressGroups)
		}
		if filter.Enabled && filter.URI != nil {
			followInto(from, k.stringGroups, field+"uri.string_group_refs", filter.URI.GroupRefs, found.StringGroups)
		}
	}
	maps.DeleteFunc(found.AddressGroups, func(_ string, group *AddressGroup) bool {
		return k.closes(subject{"ipaddrgroup", group.UUID})
	})
	if vs.Analytics != nil && vs.Analytics.Sensitive != nil {
		const field = "analytics_profile_ref.sensitive_log_profile."
		k.resolveMasks(from, field+"header_field_rules", vs.Analytics.Sensitive.Headers, found.StringGroups)
		k.resolveMasks(from, field+"uri_query_field_rules", vs.Analytics.Sensitive.Query, found.StringGroups)
	}
	vs.LogGroups = found
}

// resolveMasks does the same for the rules that say what records hide.
func (k *Keeper) resolveMasks(
	from *source, field string, rules []kinds.SensitiveFieldRule, into map[string]*kinds.StringGroup,
) {
	for i, rule := range rules {
		if rule.Enabled && rule.Match != nil {
			at := fmt.Sprintf("%s[%d].match.string_group_refs", field, i)
			followInto(from, k.stringGroups, at, rule.Match.GroupRefs, into)
		}
	}
}

func (k *Keeper) resolveCompression(
	from *source, field string, to *Content, compression *kinds.CompressionProfile,
) {
	texts := func(field, reference string) {
		if group := follow(from, k.stringGroups, field, reference); group != nil {
			to.StringGroups[reference] = group
		}
	}
	texts(field+"compressible_content_ref", compression.ContentRef)
	texts(field+"mobile_str_ref", compression.MobileRef)
	for i := range compression.Filters {
		filter, at := &compression.Filters[i], fmt.Sprintf("%sfilter[%d].", field, i)
		texts(at+"devices_ref", filter.DevicesRef)
		if group := follow(from, k.addressGroups, at+"ip_addrs_ref", filter.AddrsRef); group != nil {
			to.AddressGroups[filter.AddrsRef] = group
		}
	}
}

func (k *Keeper) resolveCache(from *source, field string, to *Content, cache *kinds.CacheConfig) {
	followInto(from, k.stringGroups, field+"mime_types_group_refs", cache.MimeTypeRefs, to.StringGroups)
	followInto(from, k.stringGroups, field+"mime_types_block_group_refs", cache.BlockedTypeRefs, to.StringGroups)
	if paths := cache.URINonCacheable; paths != nil {
		followInto(from, k.stringGroups, field+"uri_non_cacheable.string_group_refs", paths.GroupRefs, to.StringGroups)
	}
}
