// Package fastpath loads the programs of fastpath/ into the kernel and attaches them to uplinks (uplink.go). It knows a
// program by the name of its folder. The package of the same name below this one writes the program's maps.
//
// Programs stay attached when the agent ends.
package fastpath

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/weir-lb/weir/fastpath"
	"github.com/weir-lb/weir/fastpath/detour"
)

// Detour passes on packets that a router sends to the wrong engine.
const Detour = "detour"

// programs are those that there are, by name.
var programs = map[string]program{
	Detour: {compiled: detour.LoadKernel, priority: 0x5765},
}

// program is a program that can be loaded. Of several programs at an ingress, the one with the lowest priority sees a
// packet first, and passes on what is not its own.
type program struct {
	compiled func() (*ebpf.CollectionSpec, error)
	priority uint16
}

// Loader has the kernel take programs.
type Loader struct {
	// AnswerNumberAt is the offset in a kernel structure by which programs recognise handshakes. It is looked up once,
	// because that takes long.
	AnswerNumberAt func() (uint32, error)
}

// New makes a loader that has loaded nothing.
func New() *Loader {
	return &Loader{AnswerNumberAt: sync.OnceValues(fastpath.AnswerNumberAt)}
}

// Load loads the program of this name, and puts its maps and programs into a struct of the program's package.
func (l *Loader) Load(name string, into any) error {
	at, _ := l.AnswerNumberAt() // 0: unknown, and the program works without it
	if err := fastpath.Load(programs[name].compiled, into, at); err != nil {
		return fmt.Errorf(
			"the kernel does not take the program %s (the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN): %w",
			name, err,
		)
	}
	return nil
}

// TunnelOverhead is the length of the headers in front of a packet that another engine passes on to an address of this
// engine.
func TunnelOverhead(own netip.Addr) int {
	if own.Is4() {
		return fastpath.TunnelOverhead4
	}
	return fastpath.TunnelOverhead6
}
