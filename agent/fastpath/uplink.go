package fastpath

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	filterName     = "weir"
	filterHandle   = 1
	filterPriority = 0x5765
)

// uplink is the interface that clients come by: the one with the address that routes lead to.
type uplink struct {
	address netip.Addr
	index   int // 0: none
}

// attach puts a program at the ingress of the interface that has an address. One that an agent before this one has left
// there is replaced at once.
func (u *uplink) attach(address netip.Addr, program *ebpf.Program) error {
	if u.address == address {
		return nil
	}
	index, err := interfaceOf(address)
	if err != nil {
		return err
	}
	if err := u.detach(); err != nil {
		return err
	}
	if err := netlink.QdiscAdd(ingress(index)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("interface %d: clsact: %w", index, err)
	}
	filter := filterOn(index)
	filter.Fd = program.FD()
	if err := netlink.FilterReplace(filter); err != nil {
		return fmt.Errorf("interface %d: tc filter: %w", index, err)
	}
	u.address, u.index = address, index
	return nil
}

// detach takes the program away. The ingress may be somebody else's, too, and stays.
func (u *uplink) detach() error {
	if u.index == 0 {
		return nil
	}
	err := netlink.FilterDel(filterOn(u.index))
	if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("interface %d: tc filter: %w", u.index, err)
	}
	*u = uplink{}
	return nil
}

func ingress(index int) netlink.Qdisc {
	return &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
}

func filterOn(index int) *netlink.BpfFilter {
	return &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: filterHandle, Priority: filterPriority, Protocol: unix.ETH_P_ALL,
		},
		Name: filterName, DirectAction: true,
	}
}

func interfaceOf(address netip.Addr) (index int, err error) {
	all, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return 0, err
	}
	for _, each := range all {
		if each.IP.Equal(address.AsSlice()) {
			return each.LinkIndex, nil
		}
	}
	return 0, fmt.Errorf("no interface has the address %s", address)
}

func mtuOf(address netip.Addr) (int, error) {
	index, err := interfaceOf(address)
	if err != nil {
		return 0, err
	}
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return 0, err
	}
	return link.Attrs().MTU, nil
}

// linkTowards is the interface that leads to another engine.
func linkTowards(engine netip.Addr) (index uint32, err error) {
	routes, err := netlink.RouteGet(engine.AsSlice())
	if err != nil {
		return 0, err
	}
	return uint32(routes[0].LinkIndex), nil
}
