package kinds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// CompressionProfile compresses responses.
type CompressionProfile struct {
	Enabled              bool   `json:"compression" default:"false" required:"true"`
	Type                 string `json:"type" enum:"CompressionType" default:"AUTO_COMPRESSION" required:"true"`
	RemoveAcceptEncoding bool   `json:"remove_accept_encoding_header" default:"true" required:"true"`
	// ContentRef has the types of content that are compressed.
	ContentRef      string `json:"compressible_content_ref" ref:"stringgroup" default:"System-Compressible-Content-Types"`
	MinLength       uint32 `json:"min_length" default:"128"`
	LevelNormal     uint32 `json:"level_normal" min:"1" max:"9" default:"1"`
	LevelAggressive uint32 `json:"level_aggressive" min:"1" max:"9" default:"5"`

	// Of AUTO_COMPRESSION.
	MaxLowRTTMs  uint32 `json:"max_low_rtt" default:"10"`   // below: nothing is compressed
	MinHighRTTMs uint32 `json:"min_high_rtt" default:"200"` // above: level_aggressive
	MobileRef    string `json:"mobile_str_ref" ref:"stringgroup"`

	// Of CUSTOM_COMPRESSION.
	Filters []CompressionFilter `json:"filter" items:"64"`
}

// CompressionFilter chooses the level for some clients.
type CompressionFilter struct {
	Index      uint32         `json:"index" required:"true"`
	Name       string         `json:"name" required:"true"`
	Level      string         `json:"level" enum:"CompressionLevel" default:"NORMAL_COMPRESSION" required:"true"`
	Match      string         `json:"match" enum:"MatchOperation" default:"IS_IN"`
	Addrs      []IPAddr       `json:"ip_addrs" items:"10000"`
	Prefixes   []IPAddrPrefix `json:"ip_addr_prefixes" items:"10000"`
	Ranges     []IPAddrRange  `json:"ip_addr_ranges" items:"10000"`
	AddrsRef   string         `json:"ip_addrs_ref" ref:"ipaddrgroup"`
	UserAgents []string       `json:"user_agent" items:"256"`
	DevicesRef string         `json:"devices_ref" ref:"stringgroup"`
}

// FiltersRequests tells whether the filters choose the level, in the order of FilterOrder.
func (p *CompressionProfile) FiltersRequests() bool { return p.Type == customCompression }

const customCompression = "CUSTOM_COMPRESSION"

var (
	_ = schema.Enum("CompressionType", "AUTO_COMPRESSION", customCompression)
	_ = schema.Enum("CompressionLevel", "AGGRESSIVE_COMPRESSION", "NORMAL_COMPRESSION", "NO_COMPRESSION")
)

// FilterOrder returns the positions of the filters in the order of their indexes.
func (p *CompressionProfile) FilterOrder() []int {
	order := make([]int, len(p.Filters))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(p.Filters[a].Index) - int(p.Filters[b].Index) })
	return order
}

// HasClients tells whether a filter compares addresses.
func (f *CompressionFilter) HasClients() bool {
	return len(f.Addrs)+len(f.Prefixes)+len(f.Ranges) > 0 || f.AddrsRef != ""
}

// HasDevices tells whether a filter compares User-Agent.
func (f *CompressionFilter) HasDevices() bool { return len(f.UserAgents) > 0 || f.DevicesRef != "" }

// check refuses filters that would match everybody or nobody.
func (p *CompressionProfile) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	if p.MinHighRTTMs < p.MaxLowRTTMs {
		return refuse(field+".min_high_rtt", "is below max_low_rtt: give at least %d", p.MaxLowRTTMs)
	}
	first := map[uint32]int{}
	for i := range p.Filters {
		filter, at := &p.Filters[i], fmt.Sprintf("%s.filter[%d]", field, i)
		if earlier, taken := first[filter.Index]; taken {
			return refuse(at+".index", "is that of filter[%d] already", earlier)
		}
		first[filter.Index] = i
		if !filter.HasClients() && !filter.HasDevices() {
			return refuse(at, "compares nothing: give addresses or devices")
		}
		if slices.Contains(filter.UserAgents, "") {
			return refuse(at+".user_agent", "has an empty text, which stands in every User-Agent")
		}
		if problem := cmp.Or(checkAddresses(at+".ip_", filter.Addrs, nil, nil),
			checkAddresses(at+".ip_addr_", nil, filter.Ranges, filter.Prefixes)); problem != nil {
			return problem
		}
	}
	return nil
}
