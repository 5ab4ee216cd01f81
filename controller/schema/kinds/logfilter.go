package kinds

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// MaxLogFilters is how many filters of logs a virtual service may have.
const MaxLogFilters = 16

// ClientLogFilter chooses requests that leave a record although they are not significant.
type ClientLogFilter struct {
	Name       string       `json:"name" required:"true"`
	Index      uint32       `json:"index" required:"true"`
	Enabled    bool         `json:"enabled" required:"true"`
	ClientIP   *IPAddrMatch `json:"client_ip"`
	URI        *StringMatch `json:"uri"`
	AllHeaders bool         `json:"all_headers" default:"false"`
	Duration   uint32       `json:"duration" default:"30"` // minutes; 0: without end
}

// IPAddrMatch is a set of addresses.
type IPAddrMatch struct {
	Criteria string         `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Addrs    []IPAddr       `json:"addrs" items:"256"`
	Ranges   []IPAddrRange  `json:"ranges" items:"256"`
	Prefixes []IPAddrPrefix `json:"prefixes" items:"256"`
	// of address groups
	GroupRefs []string `json:"group_refs" ref:"ipaddrgroup" items:"64"`
}

// IPAddrRange is the addresses from one to another.
type IPAddrRange struct {
	Begin *IPAddr `json:"begin" required:"true"`
	End   *IPAddr `json:"end" required:"true"`
}

// StringMatch compares a text with others: one of them has to match.
type StringMatch struct {
	Criteria string   `json:"match_criteria" enum:"StringOperation" required:"true"`
	Values   []string `json:"match_str" items:"64"`
	// whose keys are texts, too
	GroupRefs []string `json:"string_group_refs" ref:"stringgroup" items:"64"`
}

var (
	_ = schema.Enum("MatchOperation", "IS_IN", "IS_NOT_IN")
	_ = schema.Enum("StringOperation", "BEGINS_WITH", "DOES_NOT_BEGIN_WITH", "CONTAINS",
		"DOES_NOT_CONTAIN", "ENDS_WITH",
		"DOES_NOT_END_WITH", "EQUALS", "DOES_NOT_EQUAL", "REGEX_MATCH", "REGEX_DOES_NOT_MATCH")
)

// ActiveFilters returns the filters of logs of a virtual service that are in force, in their order. A record tells by
// the place in this list which filters hold for it.
func ActiveFilters(virtualService schema.Object) []schema.Object {
	policy, _ := virtualService["analytics_policy"].(schema.Object)
	active := slices.DeleteFunc(objects(policy["client_log_filters"]), func(filter schema.Object) bool {
		return filter["enabled"] != true
	})
	slices.SortStableFunc(active, func(a, b schema.Object) int {
		first, _ := a["index"].(int64)
		second, _ := b["index"].(int64)
		return cmp.Compare(first, second)
	})
	return active
}

// ActiveFilters are the same, of a policy that was read.
func (p *AnalyticsPolicy) ActiveFilters() []ClientLogFilter {
	active := slices.DeleteFunc(slices.Clone(p.Filters), func(filter ClientLogFilter) bool { return !filter.Enabled })
	slices.SortStableFunc(active, func(a, b ClientLogFilter) int { return cmp.Compare(a.Index, b.Index) })
	return active
}

// check returns what is wrong with the filters.
func (p *AnalyticsPolicy) check() *schema.FieldError {
	if p == nil {
		return nil
	}
	const list = "analytics_policy.client_log_filters"
	if active := len(p.ActiveFilters()); active > MaxLogFilters {
		return &schema.FieldError{Field: list,
			Problem: fmt.Sprintf("%d filters are enabled: at most %d may be", active, MaxLogFilters)}
	}
	for i, filter := range p.Filters {
		field := fmt.Sprintf("%s[%d]", list, i)
		if filter.ClientIP == nil {
			continue
		}
		if problem := filter.ClientIP.problem(field + ".client_ip"); problem != nil {
			return problem
		}
	}
	return nil
}

func (m *IPAddrMatch) problem(field string) *schema.FieldError {
	return checkAddresses(field+".", m.Addrs, m.Ranges, m.Prefixes)
}

// Subnets are the addresses as subnets.
func (m *IPAddrMatch) Subnets() (all []netip.Prefix) {
	for i := range m.Addrs {
		address := m.Addrs[i].Address()
		all = append(all, netip.PrefixFrom(address, address.BitLen()))
	}
	for i := range m.Prefixes {
		all = append(all, m.Prefixes[i].Prefix())
	}
	for _, span := range m.Ranges {
		all = append(all, SubnetsOf(span.Begin.Address(), span.End.Address())...)
	}
	return all
}

// SubnetsOf are the fewest subnets that make up a range.
func SubnetsOf(begin, end netip.Addr) (all []netip.Prefix) {
	for begin.IsValid() && !end.Less(begin) {
		bits := begin.BitLen()
		for bits > 0 {
			wider := netip.PrefixFrom(begin, bits-1).Masked()
			if wider.Addr() != begin || end.Less(lastOf(wider)) {
				break
			}
			bits--
		}
		subnet := netip.PrefixFrom(begin, bits)
		all = append(all, subnet)
		begin = lastOf(subnet).Next() // invalid behind the last address
	}
	return all
}

// lastOf is the last address of a subnet.
func lastOf(subnet netip.Prefix) netip.Addr {
	bytes := subnet.Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}
