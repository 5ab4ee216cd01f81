package notify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
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
		if isLocal(to.Addr()) {
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

func isLocal(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	if address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() ||
		thisNetwork.Contains(address) || address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return true
	}
	for _, form := range translated {
		if form.prefix.Contains(address) {
			bytes := address.As16()
			return isLocal(netip.AddrFrom4([4]byte(bytes[form.at : form.at+4])))
		}
	}
	return false
}
