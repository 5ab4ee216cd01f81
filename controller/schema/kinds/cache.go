package kinds

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// CacheConfig caches responses.
type CacheConfig struct {
	Enabled         bool       `json:"enabled" default:"false"`
	MaxCacheBytes   int64      `json:"max_cache_size" min:"0" default:"0"`
	MinObjectBytes  uint32     `json:"min_object_size" default:"100"`
	MaxObjectBytes  uint32     `json:"max_object_size" default:"4194304"`
	DefaultExpireS  uint32     `json:"default_expire" default:"600"`
	HeuristicAge    bool       `json:"heuristic_expire" default:"false"`
	XCacheHeader    bool       `json:"xcache_header" default:"true"`
	AgeHeader       bool       `json:"age_header" default:"true"`
	DateHeader      bool       `json:"date_header" default:"true"`
	Aggressive      bool       `json:"aggressive" default:"false"`
	QueryCacheable  bool       `json:"query_cacheable" default:"false"`
	IgnoresRequests bool       `json:"ignore_request_cache_control" default:"false"`
	MimeTypes       []string   `json:"mime_types_list" items:"256"`
	MimeTypeRefs    []string   `json:"mime_types_group_refs" ref:"stringgroup" items:"64"`
	BlockedTypes    []string   `json:"mime_types_block_lists" items:"256"`
	BlockedTypeRefs []string   `json:"mime_types_block_group_refs" ref:"stringgroup" items:"64"`
	URINonCacheable *PathMatch `json:"uri_non_cacheable"`
}

// check refuses what engines could not carry out.
func (c *CacheConfig) check(field string) *schema.FieldError {
	if c == nil {
		return nil
	}
	if c.MaxObjectBytes < c.MinObjectBytes {
		return refuse(field+".max_object_size", "is below min_object_size: give at least %d", c.MinObjectBytes)
	}
	paths := c.URINonCacheable
	if paths == nil {
		return nil
	}
	switch field := field + ".uri_non_cacheable"; {
	case slices.Contains([]string{"REGEX_MATCH", "REGEX_DOES_NOT_MATCH"}, paths.Criteria):
		return refuse(field+".match_criteria", "the cache compares no expressions: give another criterion")
	case len(paths.Values)+len(paths.GroupRefs) == 0:
		return refuse(field+".match_str", "is empty: give a path")
	}
	for i, text := range paths.Values {
		if text == "" {
			return refuse(fmt.Sprintf("%s.uri_non_cacheable.match_str[%d]", field, i), "is empty")
		}
	}
	return nil
}
