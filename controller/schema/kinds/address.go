package kinds

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"

	"github.com/weir-lb/weir/controller/schema"
)

// IPAddr is an IP address or a DNS name. The type may be absent: it follows from the address.
type IPAddr struct {
	Addr string `json:"addr" required:"true"`
	Type string `json:"type" enum:"IPAddrType"`
}

var _ = schema.Enum("IPAddrType", "V4", "DNS", "V6")

func (*IPAddr) Complete(o schema.Object) {
	if _, said := o["type"]; said {
		return
	}
	text, _ := o["addr"].(string)
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		o["type"] = "DNS"
	case address.Is4():
		o["type"] = "V4"
	default:
		o["type"] = "V6"
	}
}

// IPAddrPrefix is a subnet.
type IPAddrPrefix struct {
	IPAddr *IPAddr `json:"ip_addr" required:"true"`
	Mask   uint32  `json:"mask" max:"128" required:"true"`
}

// Contains tells whether an address is in the subnet.
func (p *IPAddrPrefix) Contains(address netip.Addr) bool { return p.Prefix().Contains(address) }

// Prefix returns the subnet with its host bits cleared. It is invalid if the address or the mask is.
func (p *IPAddrPrefix) Prefix() netip.Prefix {
	return netip.PrefixFrom(p.IPAddr.Address(), int(p.Mask)).Masked()
}

// problem returns the error in a subnet; field is the name of the field.
func (p *IPAddrPrefix) problem(field string) *schema.FieldError {
	if problem := p.IPAddr.literal(field + ".ip_addr"); problem != nil {
		return problem
	}
	if bits := p.IPAddr.Address().BitLen(); int(p.Mask) > bits {
		return &schema.FieldError{
			Field:   field + ".mask",
			Problem: fmt.Sprintf("%d is longer than the %d bits of %s", p.Mask, bits, p.IPAddr.Addr),
		}
	}
	return nil
}

// Address returns the IP address. It is invalid for a DNS name.
func (a *IPAddr) Address() netip.Addr {
	address, err := netip.ParseAddr(a.Addr)
	if err != nil {
		return netip.Addr{}
	}
	return address
}

// problem returns the error in an address; field is the name of the field.
func (a *IPAddr) problem(field string) *schema.FieldError {
	address := a.Address()
	switch {
	case a.Type == "V4" && !address.Is4():
		return &schema.FieldError{Field: field + ".addr", Problem: strconv.Quote(a.Addr) + " is not an IPv4 address"}
	case a.Type == "V6" && (!address.Is6() || address.Zone() != ""):
		return &schema.FieldError{Field: field + ".addr", Problem: strconv.Quote(a.Addr) + " is not an IPv6 address"}
	case a.Type == "DNS" && !hostName.MatchString(a.Addr):
		return &schema.FieldError{
			Field:   field + ".addr",
			Problem: strconv.Quote(a.Addr) + " is neither an address nor a host name",
		}
	}
	return nil
}

// NoServer says why engines ask no server at an address and a port; empty: they do.
func NoServer(address netip.Addr, port uint32) string {
	switch plain := address.Unmap(); {
	case plain.IsUnspecified():
		return fmt.Sprintf("%s is no address of a server", address)
	case plain.IsMulticast() || plain == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Sprintf("%s is an address of many, and not of one server", address)
	case address.Zone() != "":
		return fmt.Sprintf("%s has a zone, which is another one on each engine", address)
	case port < 1 || port > 65535:
		return fmt.Sprintf("%d is no port of a server: choose 1 to 65535", port)
	}
	return ""
}

// noServer is NoServer for what may be a name.
func noServer(ip *IPAddr, port uint32) string {
	if address := ip.Address(); address.IsValid() {
		return NoServer(address, port)
	}
	return ""
}

// hostName requires that the last label is not a number (RFC 3696 §2): 10.0.0.256 is a mistyped address, not a name.
var hostName = regexp.MustCompile(`^([A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*\.?$`)

// literal is like problem, for fields that allow no DNS name.
func (a *IPAddr) literal(field string) *schema.FieldError {
	if problem := a.problem(field); problem != nil || a.Type != "DNS" {
		return problem
	}
	return &schema.FieldError{
		Field:   field + ".addr",
		Problem: strconv.Quote(a.Addr) + " is a DNS name; give an IPv4 or IPv6 address",
	}
}

// checkAddresses checks a set of addresses; within is the beginning of the names of its fields.
func checkAddresses(
	within string, addresses []IPAddr, ranges []IPAddrRange, prefixes []IPAddrPrefix,
) *schema.FieldError {
	for i := range addresses {
		if problem := addresses[i].literal(fmt.Sprintf("%saddrs[%d]", within, i)); problem != nil {
			return problem
		}
	}
	for i := range prefixes {
		if problem := prefixes[i].problem(fmt.Sprintf("%sprefixes[%d]", within, i)); problem != nil {
			return problem
		}
	}
	for i, span := range ranges {
		at := fmt.Sprintf("%sranges[%d]", within, i)
		if problem := cmp.Or(span.Begin.literal(at+".begin"), span.End.literal(at+".end")); problem != nil {
			return problem
		}
		switch begin, end := span.Begin.Address(), span.End.Address(); {
		case begin.BitLen() != end.BitLen():
			return refuse(at, "its end is of another family than its beginning")
		case end.Less(begin):
			return refuse(at, "its end is before its beginning")
		}
	}
	return nil
}
