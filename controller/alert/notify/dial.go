package notify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// dialTimeout is how long a receiver may take to accept a connection.
const dialTimeout = 5 * time.Second

// Forbidden says that a receiver has an address that the controller sends nothing to: services on its own machine and
// its own link trust those who can reach them, and an operator of Weir is not one of them by that.
type Forbidden struct{ Address netip.Addr }

func (f *Forbidden) Error() string {
	return fmt.Sprintf("%s is an address of this machine or of its link: the controller sends nothing there, "+
		"unless it was started with --allow-local-receivers", f.Address)
}

func (s *Sender) dialer() *net.Dialer { return Dialer(s.AllowLocal) }

// Dialer connects to receivers. It looks at the address that a connection goes to, when it is made: a name can have
// another address by then than when it was written. allowLocal lets it connect to this machine and its link.
func Dialer(allowLocal bool) *net.Dialer {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if allowLocal {
		return dialer
	}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s is no address: %w", address, err)
		}
		own, err := ownAddresses()
		if err != nil {
			return fmt.Errorf("the addresses of this machine are not known: %w", err)
		}
		if isLocal(to.Addr(), own...) {
			return &Forbidden{to.Addr()}
		}
		return nil
	}
	return dialer
}

// translated are prefixes whose addresses have one of IPv4 inside, and where in them it begins.
var translated = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4, RFC 3056
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible, RFC 4291 §2.5.5.1
}

// thisNetwork has addresses that systems take for their own (RFC 1122 §3.2.1.3).
var thisNetwork = netip.MustParsePrefix("0.0.0.0/8")

// localTranslation is NAT64 by a translator of this network (RFC 8215). Where in them the address of IPv4 is, only its
// operator knows.
var localTranslation = netip.MustParsePrefix("64:ff9b:1::/48")

// ownAddresses are those of the interfaces of this machine. They change.
func ownAddresses() (own []netip.Addr, err error) {
	all, err := net.InterfaceAddrs()
	for _, one := range all {
		if prefix, is := one.(*net.IPNet); is {
			if address, ok := netip.AddrFromSlice(prefix.IP); ok {
				own = append(own, address.Unmap())
			}
		}
	}
	return own, err
}

// isLocal tells whether an address is of this machine, whose interfaces have own ones, or of its link.
func isLocal(address netip.Addr, own ...netip.Addr) bool {
	address = address.WithZone("").Unmap()
	if address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() ||
		thisNetwork.Contains(address) || localTranslation.Contains(address) ||
		slices.Contains(own, address) || address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return true
	}
	for _, form := range translated {
		if form.prefix.Contains(address) {
			bytes := address.As16()
			return isLocal(netip.AddrFrom4([4]byte(bytes[form.at:form.at+4])), own...)
		}
	}
	return false
}
