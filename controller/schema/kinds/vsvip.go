package kinds

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// VsVip is a set of addresses that virtual services share.
type VsVip struct {
	Identity
	Named
	Owned
	Clouded
	Markers            []Marker  `json:"markers"`
	CloudChecksum      string    `json:"vsvip_cloud_config_cksum"`
	Vips               []Vip     `json:"vip"`
	DNSInfo            []DNSInfo `json:"dns_info" items:"1000"`
	VrfContextRef      string    `json:"vrf_context_ref" ref:"vrfcontext" default:"global"`
	EastWestPlacement  bool      `json:"east_west_placement" default:"false"`
	Tier1LR            string    `json:"tier1_lr"`
	BGPPeerLabels      []string  `json:"bgp_peer_labels" items:"128"`
	BGPLocalPreference uint32    `json:"bgp_local_preference"`
	BGPASPathPrepend   uint32    `json:"bgp_num_as_path_prepend" min:"1" max:"10"`
}

func init() {
	schema.Register[VsVip](schema.Definition{
		Permission: "PERMISSION_VIRTUALSERVICE",
		Private:    true,
		Serving:    schema.PartOfService,
		FilledBy:   fillVsVip,
		Columns: []column.Column{
			column.Of("ADDRESSES", addresses),
		},
		Example: `  weir vsvip create web-vip vip[0].ip_address.addr=192.0.2.10`,
		Kept: []schema.Rule{
			schema.NoEffect(noNames, "dns_info"),
			schema.NoEffect(noAllocation, ""),
		},
		Unread: append([]schema.Rule{schema.NoEffect(noNSX, "tier1_lr")}, unreadOfVips...),
	})
}

var (
	_ = schema.Enum("AutoAllocateIPType", "V4_ONLY", "V6_ONLY", "V4_V6")
	_ = schema.Enum("DNSRecordType",
		"DNS_RECORD_OTHER", "DNS_RECORD_A", "DNS_RECORD_NS", "DNS_RECORD_CNAME", "DNS_RECORD_SOA", "DNS_RECORD_PTR",
		"DNS_RECORD_HINFO", "DNS_RECORD_MX", "DNS_RECORD_TXT", "DNS_RECORD_RP", "DNS_RECORD_DNSKEY", "DNS_RECORD_AAAA",
		"DNS_RECORD_SRV", "DNS_RECORD_OPT", "DNS_RECORD_RRSIG", "DNS_RECORD_AXFR", "DNS_RECORD_ANY",
	)
)

// unreadOfVips are the rules for fields about addresses that have no function.
var unreadOfVips = []schema.Rule{
	schema.NoEffect(noNames, "dns_info.fqdn dns_info.type dns_info.ttl"),
	schema.NoEffect(noAllocation, `vip.floating_ip vip.auto_allocate_ip vip.auto_allocate_ip_type
		vip.auto_allocate_floating_ip vip.avi_allocated_vip vip.avi_allocated_fip`),
	schema.NoEffect("engines have the address alone, and announce it as a route to it alone",
		"vip.subnet vip.prefix_length"),
	schema.NoEffect(noZones, "vip.availability_zone"),
	schema.NoEffect(noMesos, "east_west_placement"),
}

// Vip is one IPv4 address, one IPv6 address, or one of each.
type Vip struct {
	VipID                  string        `json:"vip_id"`
	Enabled                bool          `json:"enabled" default:"true"`
	IPAddress              *IPAddr       `json:"ip_address"`
	IP6Address             *IPAddr       `json:"ip6_address"`
	FloatingIP             *IPAddr       `json:"floating_ip"`
	Subnet                 *IPAddrPrefix `json:"subnet"`
	AutoAllocateIP         bool          `json:"auto_allocate_ip" default:"false"`
	AutoAllocateIPType     string        `json:"auto_allocate_ip_type" enum:"AutoAllocateIPType" default:"V4_ONLY"`
	AutoAllocateFloatingIP bool          `json:"auto_allocate_floating_ip" default:"false"`
	AviAllocatedVip        bool          `json:"avi_allocated_vip" default:"false"`
	AviAllocatedFip        bool          `json:"avi_allocated_fip" default:"false"`
	AvailabilityZone       string        `json:"availability_zone"`
	PrefixLength           uint32        `json:"prefix_length" max:"32" default:"32"`
}

// DNSInfo is a DNS name of an address.
type DNSInfo struct {
	FQDN string `json:"fqdn"`
	Type string `json:"type" enum:"DNSRecordType" default:"DNS_RECORD_A"`
	TTL  uint32 `json:"ttl" min:"1" max:"86400"`
}

// fillVips gives an id to each address without one. It skips the ids that are taken.
func fillVips(vips any) {
	taken := map[any]bool{}
	for _, vip := range objects(vips) {
		taken[vip["vip_id"]] = true
	}
	next := 0
	for _, vip := range objects(vips) {
		if _, ok := vip["vip_id"]; ok {
			continue
		}
		for taken[strconv.Itoa(next)] {
			next++
		}
		vip["vip_id"] = strconv.Itoa(next)
		next++
	}
}

func (v *VsVip) Validate() *schema.FieldError { return checkVips(v.Vips) }

func checkVips(vips []Vip) *schema.FieldError {
	owner := map[string]int{}
	for i, vip := range vips {
		here := fmt.Sprintf("vip[%d]", i)
		if earlier, taken := owner[vip.VipID]; taken {
			return &schema.FieldError{
				Field:   here + ".vip_id",
				Problem: fmt.Sprintf("%q is already the id of vip[%d]", vip.VipID, earlier),
			}
		}
		owner[vip.VipID] = i
		if problem := vip.check(here); problem != nil {
			return problem
		}
	}
	return nil
}

func (v *Vip) check(here string) *schema.FieldError {
	if problem := v.checkAllocation(here); problem != nil {
		return problem
	}
	if v.IPAddress != nil {
		if problem := v.IPAddress.literal(here + ".ip_address"); problem != nil {
			return problem
		}
	}
	if v.IP6Address == nil {
		return nil
	}
	if v.IP6Address.Type != "V6" {
		return &schema.FieldError{
			Field:   here + ".ip6_address.type",
			Problem: v.IP6Address.Type + " is not an IPv6 address; give V6",
		}
	}
	return v.IP6Address.literal(here + ".ip6_address")
}

// checkAllocation refuses an automatic allocation without an address, because Weir allocates none. It accepts one with
// an address: clients send back what another controller has allocated.
func (v *Vip) checkAllocation(here string) *schema.FieldError {
	if !v.AutoAllocateIP {
		if v.IPAddress == nil && v.IP6Address == nil {
			return &schema.FieldError{Field: here + ".ip_address", Problem: "is required"}
		}
		return nil
	}
	lacks4 := v.IPAddress == nil && v.AutoAllocateIPType != "V6_ONLY"
	lacks6 := v.IP6Address == nil && v.AutoAllocateIPType != "V4_ONLY"
	if lacks4 || lacks6 {
		return &schema.FieldError{Field: here + ".auto_allocate_ip",
			Problem: "Weir allocates no addresses: give the address, as ip_address for IPv4, ip6_address for IPv6"}
	}
	return nil
}

func fillVsVip(o schema.Object) { fillVips(o["vip"]) }

func addresses(row column.Row) string {
	var list []string
	for _, vip := range column.List(row.Object, "vip") {
		for _, version := range []string{"ip_address", "ip6_address"} {
			if address := column.Text(column.At(vip, version, "addr")); address != "" {
				list = append(list, address)
			}
		}
	}
	return strings.Join(list, ", ")
}
