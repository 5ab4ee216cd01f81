package agent

import (
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// addressesMax bounds what an engine says of itself; hosts with thousands of addresses exist.
const addressesMax = 64

// resources is what this machine has to give. What cannot be found out is left empty: the controller only shows it.
func resources() *enginev1.Resources {
	own := &enginev1.Resources{Cores: uint32(runtime.NumCPU())}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		own.MemoryBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
	if name, err := os.Hostname(); err == nil {
		own.Hostname = name
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return own
	}
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if err == nil && prefix.Addr().IsGlobalUnicast() && len(own.Addresses) < addressesMax {
			own.Addresses = append(own.Addresses, prefix.Addr().String())
		}
	}
	return own
}
