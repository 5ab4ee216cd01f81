package fastpath

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The filter that holds a program; nobody else uses this handle.
const (
	filterName   = "weir"
	filterHandle = 1
)

// Uplinks are the interfaces through which clients' packets arrive: those with an address that routes point to. One
// program is attached at the ingress of each.
type Uplinks struct {
	program   program
	addresses []netip.Addr
	indices   []int // sorted
}

// For returns the uplinks of the program of this name, with no interface yet.
func For(name string) Uplinks { return Uplinks{program: programs[name]} }

// Attach puts the program at the ingress of the interfaces with these addresses, and removes it from all others. It
// replaces a program of an earlier agent without a gap.
func (u *Uplinks) Attach(addresses []netip.Addr, loaded *ebpf.Program) error {
	indices, failed := interfacesOf(addresses)
	for _, index := range u.indices {
		if !slices.Contains(indices, index) {
			failed = errors.Join(failed, u.program.detachFrom(index))
		}
	}
	u.addresses, u.indices = addresses, indices
	for _, index := range indices {
		failed = errors.Join(failed, u.program.attachTo(index, loaded))
	}
	return failed
}

// Moved tells whether the addresses are on other interfaces than before, also when an interface was removed and created
// again.
func (u *Uplinks) Moved() bool {
	now, _ := interfacesOf(u.addresses)
	return !slices.Equal(now, u.indices)
}

// Detach takes the program away.
func (u *Uplinks) Detach() error {
	var failed error
	for _, index := range u.indices {
		failed = errors.Join(failed, u.program.detachFrom(index))
	}
	u.addresses, u.indices = nil, nil
	return failed
}

// interfacesOf are the interfaces that have these addresses, sorted by index. Loopback is left out: no client's packets
// arrive there, even if the engine speaks to routers from a loopback address.
func interfacesOf(addresses []netip.Addr) (indices []int, failed error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	all, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("addresses of interfaces: %w", err)
	}
	found := map[int]bool{}
	for _, address := range addresses {
		at := slices.IndexFunc(all, func(a netlink.Addr) bool { return a.IP.Equal(address.AsSlice()) })
		switch {
		case at < 0:
			failed = errors.Join(failed, fmt.Errorf("no interface has the address %s", address))
		case isLoopback(all[at].LinkIndex):
			failed = errors.Join(failed, fmt.Errorf(
				"%s is an address of loopback: by which interface clients come cannot be told from it", address))
		default:
			found[all[at].LinkIndex] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), failed
}

func isLoopback(index int) bool {
	link, err := net.InterfaceByIndex(index)
	return err == nil && link.Flags&net.FlagLoopback != 0
}

// AddIngresses creates the qdisc for programs at the interfaces with these addresses. For some milliseconds the kernel
// drops what such an interface sends.
func AddIngresses(addresses []netip.Addr) error {
	indices, failed := interfacesOf(addresses)
	for _, index := range indices {
		failed = errors.Join(failed, addIngress(index))
	}
	return failed
}

func addIngress(index int) error {
	ingress := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0),
		Parent: netlink.HANDLE_CLSACT}}
	if err := netlink.QdiscAdd(ingress); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("interface %d: clsact: %w", index, err)
	}
	return nil
}

func (p program) attachTo(index int, loaded *ebpf.Program) error {
	if err := addIngress(index); err != nil {
		return err
	}
	filter := p.filterOn(index)
	filter.Fd = loaded.FD()
	if err := netlink.FilterReplace(filter); err != nil {
		return fmt.Errorf("interface %d: tc filter: %w", index, err)
	}
	return nil
}

// detachFrom removes the program from an interface. The qdisc stays, because others may use it.
func (p program) detachFrom(index int) error {
	err := netlink.FilterDel(p.filterOn(index))
	for _, absent := range []error{unix.ENODEV, unix.ENOENT, unix.EINVAL} {
		if errors.Is(err, absent) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("interface %d: tc filter: %w", index, err)
	}
	return nil
}

// DetachFromAll removes programs of earlier agents.
func (u *Uplinks) DetachFromAll() error {
	links, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("interfaces: %w", err)
	}
	for _, link := range links {
		if err := u.program.detachFrom(link.Index); errors.Is(err, unix.EPERM) {
			return nil // without the permission to remove it, this agent could not have added it either
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (p program) filterOn(index int) *netlink.BpfFilter {
	return &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: filterHandle, Priority: p.priority,
			Protocol: unix.ETH_P_ALL,
		},
		Name: filterName, DirectAction: true,
	}
}

// MTUOf is the MTU of the interface with an address; 0: no interface has it.
func MTUOf(address netip.Addr) int {
	indices, _ := interfacesOf([]netip.Addr{address})
	if len(indices) == 0 {
		return 0
	}
	link, err := net.InterfaceByIndex(indices[0])
	if err != nil {
		return 0
	}
	return link.MTU
}

// LinkTowards is the interface that leads to another engine.
func LinkTowards(engine netip.Addr) (index uint32, err error) {
	routes, err := netlink.RouteGet(engine.AsSlice())
	if err != nil {
		return 0, err
	}
	return uint32(routes[0].LinkIndex), nil
}
