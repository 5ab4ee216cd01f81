package agent

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// addressesMax limits the addresses that an engine reports; some hosts have thousands.
const addressesMax = 64

// resources describes this machine. Unknown values stay empty. The controller shows them, and places by
// the hostname and the network.
func resources() *enginev1.Resources {
	own := &enginev1.Resources{Cores: uint32(runtime.NumCPU())}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		own.MemoryBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
	if name, err := os.Hostname(); err == nil {
		own.Hostname = name
	}
	own.Network = network()
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

// network names the network namespace of this process, unlike those of all machines; empty: the kernel does not tell.
func network() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}
