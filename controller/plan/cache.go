package plan

import (
	"slices"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const ofCache = "application_profile_ref.http_profile.cache_config"

// cache converts the configuration of a cache. nil: engines store nothing.
func cache(subject subject, vs *model.VirtualService, report *report) *dataplanev1.Cache {
	from := vs.HTTP.Cache
	if from == nil || !from.Enabled {
		return nil
	}
	to := &dataplanev1.Cache{
		MinBytes:                from.MinObjectBytes,
		MaxBytes:                from.MaxObjectBytes,
		MaxStoredBytes:          uint64(from.MaxCacheBytes),
		DefaultExpireS:          from.DefaultExpireS,
		HeuristicExpire:         from.HeuristicAge,
		Aggressive:              from.Aggressive,
		Queries:                 from.QueryCacheable,
		IgnoreRequestDirectives: from.IgnoresRequests,
		AgeField:                from.AgeHeader,
		DateField:               from.DateHeader,
		XCacheField:             from.XCacheHeader,
		Types:                   append(slices.Clone(from.MimeTypes), keysOfAll(vs.Content, from.MimeTypeRefs)...),
		BlockedTypes: append(slices.Clone(from.BlockedTypes),
			keysOfAll(vs.Content, from.BlockedTypeRefs)...),
	}
	if paths := from.URINonCacheable; paths != nil {
		values := append(slices.Clone(paths.Values), keysOfAll(vs.Content, paths.GroupRefs)...)
		to.BlockedPaths = texts(paths.Criteria, paths.Case, values)
		to.BlockedPaths.Decoded = paths.Decoded
		if kinds.ComparesBeginning(paths.Criteria) {
			to.BlockedPaths.Values = rooted(values)
		}
	}
	// Without a group that says what is not stored, more would be.
	for _, reference := range slices.Concat(from.MimeTypeRefs, from.BlockedTypeRefs, groupRefs(from)) {
		if vs.Content.StringGroups[reference] == nil {
			report.blocked = true // model has a finding about that
		}
	}
	if size := proto.Size(to); size > contentBytesMost {
		report.block(subject, ofCache, "has %d bytes with the groups that it names: give at most %d", size,
			contentBytesMost)
	}
	if purges := vs.Purges; purges != nil {
		to.PurgedAll = purges.All
		for _, purge := range purges.URIs {
			to.Purges = append(to.Purges, &dataplanev1.Purge{
				Number: purge.Number, Host: purge.Host, Path: purge.Path, Prefix: purge.Prefix,
			})
		}
	}
	return to
}

func groupRefs(from *kinds.CacheConfig) []string {
	if from.URINonCacheable == nil {
		return nil
	}
	return from.URINonCacheable.GroupRefs
}

func keysOfAll(groups *model.Content, references []string) (all []string) {
	for _, reference := range references {
		all = append(all, keys(groups, reference)...)
	}
	return all
}
