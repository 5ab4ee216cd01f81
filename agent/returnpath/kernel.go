package returnpath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// kernel is what the kernel has of ours, by the numbers of a block.
type kernel struct{ first int }

var families = map[bool]int{false: unix.AF_INET, true: unix.AF_INET6}

// rules are those in our block, with our mark.
func (k kernel) rules(is6 bool) (map[rule]bool, error) {
	all, err := netlink.RuleList(families[is6])
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	has := map[rule]bool{}
	for _, each := range all {
		if stage := each.Priority - k.first; each.Protocol == protocol && stage >= 0 && stage < blockLen {
			has[readRule(stage, is6, &each)] = true
		}
	}
	return has, nil
}

func readRule(stage int, is6 bool, from *netlink.Rule) rule {
	read := rule{stage: stage, is6: is6}
	if from.Src != nil {
		address, _ := netip.AddrFromSlice(from.Src.IP)
		read.from = address
	}
	if from.Sport != nil {
		read.ports = [2]uint16{from.Sport.Start, from.Sport.End}
	}
	return read
}

// add adds a rule; one that is there already is no error.
func (k kernel) add(added rule) error {
	if err := netlink.RuleAdd(k.wire(added)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add rule: %w", err)
	}
	return nil
}

// remove removes a rule; one that is not there is no error.
func (k kernel) remove(removed rule) error {
	if err := netlink.RuleDel(k.wire(removed)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove rule: %w", err)
	}
	return nil
}

func (k kernel) wire(from rule) *netlink.Rule {
	to := netlink.NewRule()
	to.Family, to.Priority, to.Protocol = families[from.is6], k.first+from.stage, protocol
	if from.stage != ours && from.stage != end {
		to.IPProto = unix.IPPROTO_UDP
	}
	if from.ports[0] != 0 {
		to.Sport = netlink.NewRulePortRange(from.ports[0], from.ports[1])
	}
	if from.from.IsValid() {
		bits := from.from.BitLen()
		to.Src = &net.IPNet{IP: from.from.AsSlice(), Mask: net.CIDRMask(bits, bits)}
	}
	switch from.stage {
	case ours:
		to.IifName, to.Goto = "lo", k.first+end // of a packet that comes from nowhere
	case other:
		to.Invert, to.Goto = true, k.first+end
	case otherPort:
		to.Goto = k.first + end
	case answer, fragment:
		to.Table = k.first
	case end:
		to.Type = nl.FR_ACT_NOP
	}
	return to
}

// deliver has the table deliver everything to this machine. It may be called again.
func (k kernel) deliver(is6 bool) error {
	route, err := k.route(is6)
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(route); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add route to table %d: %w", k.first, err)
	}
	return nil
}

// undeliver empties the table. Looking whether it is empty needs no capability, and removing does.
func (k kernel) undeliver(is6 bool) error {
	of := &netlink.Route{Table: k.first, Protocol: protocol}
	there, err := netlink.RouteListFiltered(families[is6], of, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("read routes: %w", err)
	}
	if len(there) == 0 {
		return nil
	}
	route, err := k.route(is6)
	if err != nil {
		return err
	}
	if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove route from table %d: %w", k.first, err)
	}
	return nil
}

func (k kernel) route(is6 bool) (*netlink.Route, error) {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("interface lo: %w", err)
	}
	everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if is6 {
		everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return &netlink.Route{
		Family: families[is6], Table: k.first, Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST, Protocol: protocol,
		LinkIndex: loopback.Attrs().Index,
		Dst:       &net.IPNet{IP: everywhere.Addr().AsSlice(), Mask: net.CIDRMask(0, everywhere.Addr().BitLen())},
	}, nil
}

// ownAddresses are the addresses of this machine.
func ownAddresses() (map[netip.Addr]bool, error) {
	all, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	own := map[netip.Addr]bool{}
	for _, each := range all {
		if address, ok := netip.AddrFromSlice(each.IP); ok {
			own[address.Unmap()] = true
		}
	}
	return own, nil
}
