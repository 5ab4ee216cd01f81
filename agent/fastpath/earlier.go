package fastpath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// EarlierMap opens a map of the program that an earlier agent has left; nil: there is none. The caller closes it.
func (u *Uplinks) EarlierMap(name string) (*ebpf.Map, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	for _, link := range links {
		id, err := u.program.attachedTo(link)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", link.Attrs().Name, err)
		}
		if id == 0 {
			continue
		}
		found, err := mapOf(id, name)
		if err != nil {
			return nil, fmt.Errorf("program %d at interface %s: %w", id, link.Attrs().Name, err)
		}
		return found, nil
	}
	return nil, nil
}

// attachedTo is the program at the ingress of an interface; 0: there is none.
func (p program) attachedTo(link netlink.Link) (ebpf.ProgramID, error) {
	filters, err := netlink.FilterList(link, netlink.HANDLE_MIN_INGRESS)
	if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EINVAL) {
		return 0, fmt.Errorf("tc filters: %w", err)
	}
	for _, filter := range filters {
		is := filter.Attrs()
		if ours, ok := filter.(*netlink.BpfFilter); ok && is.Handle == filterHandle && is.Priority == p.priority {
			return ebpf.ProgramID(ours.Id), nil
		}
	}
	return 0, nil
}

// mapOf opens the map of this name that a program uses; nil: it uses none.
func mapOf(id ebpf.ProgramID, name string) (*ebpf.Map, error) {
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	ids, _ := info.MapIDs()
	for _, each := range ids {
		opened, err := ebpf.NewMapFromID(each)
		if err != nil {
			return nil, err
		}
		if is, err := opened.Info(); err == nil && is.Name == name {
			return opened, nil
		}
		opened.Close()
	}
	return nil, nil
}
