package route

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// vips adds addresses to an interface of this network namespace, so that the kernel accepts packets for them, and
// removes them again. It leaves addresses alone that were there before, except VIPs of an earlier agent: the kernel
// does not record who added an address, so these are taken for ours.
type vips struct {
	device string // empty: does nothing
	log    *slog.Logger
	ours   map[netip.Addr]bool
	said   map[netip.Addr]string // why one is not there, as logged
}

// newVIPs takes over the addresses of an earlier agent.
func newVIPs(device string, inherited []netip.Addr, log *slog.Logger) *vips {
	v := &vips{device: device, log: log, ours: map[netip.Addr]bool{}, said: map[netip.Addr]string{}}
	for _, address := range inherited {
		v.ours[address] = true
	}
	return v
}

// hold makes these the addresses on the interface. It returns those that it could not add.
func (v *vips) hold(wanted []netip.Addr) (absent map[netip.Addr]bool) {
	if v.device == "" {
		return nil
	}
	stays := make(map[netip.Addr]bool, len(wanted))
	for _, address := range wanted {
		stays[address] = true
	}
	for _, address := range slices.Collect(maps.Keys(v.ours)) {
		if !stays[address] {
			v.report(address, v.remove(address))
			delete(v.ours, address)
		}
	}
	absent = map[netip.Addr]bool{}
	for _, address := range wanted {
		err := v.add(address)
		v.report(address, err)
		absent[address] = err != nil
	}
	return absent
}

// clear takes all of them off.
func (v *vips) clear() { v.hold(nil) }

// add is called for each address at each beat, so that an address that somebody removed comes back.
func (v *vips) add(address netip.Addr) error {
	err := v.change(address, netlink.AddrAdd)
	if err == nil {
		v.ours[address] = true
	}
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

func (v *vips) remove(address netip.Addr) error {
	err := v.change(address, netlink.AddrDel)
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return err
}

func (v *vips) change(address netip.Addr, how func(netlink.Link, *netlink.Addr) error) error {
	link, err := netlink.LinkByName(v.device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", v.device, err)
	}
	bits := address.BitLen()
	on := &netlink.Addr{IPNet: &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(bits, bits)}}
	if address.Is6() {
		on.Flags = unix.IFA_F_NODAD // without duplicate address detection: several engines have the address
	}
	if err := how(link, on); err != nil {
		return fmt.Errorf("interface %s: %w", v.device, err)
	}
	return nil
}

// report says each failure once.
func (v *vips) report(address netip.Addr, err error) {
	if err == nil {
		delete(v.said, address)
		return
	}
	if text := err.Error(); v.said[address] != text {
		v.said[address] = text
		v.log.Error("cannot hold a VIP on its interface; it is not announced", "vip", address, "reason", text)
	}
}
