// Package fastpath loads the programs of fastpath/ into the kernel and puts them where clients come in (uplink.go). It
// knows each by its name, that of its folder; what a program is told is the business of the folder of that name here.
//
// Programs go on when the agent is gone.
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

// program is one that can be loaded, and its place at an ingress: of several, the one of the lowest priority sees a
// packet first, and those after it what it lets pass.
type program struct {
	compiled func() (*ebpf.CollectionSpec, error)
	priority uint16
}

// Loader has the kernel take programs.
type Loader struct {
	// AnswerNumberAt is where the kernel keeps what programs tell handshakes by; it is found out once, which takes its
	// time.
	AnswerNumberAt func() (uint32, error)
}

// New makes a loader that has loaded nothing.
func New() *Loader {
	return &Loader{AnswerNumberAt: sync.OnceValues(fastpath.AnswerNumberAt)}
}

// Load has the kernel take the program of a name, whose objects go into a struct of its package.
func (l *Loader) Load(name string, into any) error {
	at, _ := l.AnswerNumberAt() // 0 where that is not known: the program does without
	if err := fastpath.Load(programs[name].compiled, into, at); err != nil {
		return fmt.Errorf(
			"the kernel does not take the program %s (the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN): %w",
			name, err,
		)
	}
	return nil
}

// TunnelOverhead is what comes before a packet that another engine passes on to an address of this one.
func TunnelOverhead(own netip.Addr) int {
	if own.Is4() {
		return fastpath.TunnelOverhead4
	}
	return fastpath.TunnelOverhead6
}
