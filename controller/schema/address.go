package schema

import (
	"net/netip"
	"strconv"
)

// IPAddr is an address, or a DNS name in its place.
type IPAddr struct {
	Addr string `json:"addr" required:"true"`
	Type string `json:"type" enum:"IPAddrType" required:"true"`
}

// IPAddrPrefix is a subnet.
type IPAddrPrefix struct {
	IPAddr *IPAddr `json:"ip_addr" required:"true"`
	Mask   uint32  `json:"mask" max:"128" required:"true"`
}

// Address reads the address; it is invalid if this is a DNS name.
func (a *IPAddr) Address() netip.Addr {
	address, err := netip.ParseAddr(a.Addr)
	if err != nil {
		return netip.Addr{}
	}
	return address
}

// problem says what is wrong with an address that stands in a field.
func (a *IPAddr) problem(field string) *FieldError {
	address := a.Address()
	switch {
	case a.Type == "V4" && !address.Is4():
		return &FieldError{Field: field + ".addr", Problem: strconv.Quote(a.Addr) + " is not an IPv4 address"}
	case a.Type == "V6" && (!address.Is6() || address.Zone() != ""):
		return &FieldError{Field: field + ".addr", Problem: strconv.Quote(a.Addr) + " is not an IPv6 address"}
	}
	return nil
}

// literal is problem for where a DNS name cannot stand.
func (a *IPAddr) literal(field string) *FieldError {
	if a.Type == "DNS" {
		return &FieldError{Field: field + ".type", Problem: "DNS is not an address; give V4 or V6"}
	}
	return a.problem(field)
}
