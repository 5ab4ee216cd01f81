package network

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/lab/topology"
)

// kernel is netlink in one namespace.
type kernel struct {
	*netlink.Handle
	space netns.NsHandle
}

func open(space *Namespace) (*kernel, error) {
	handle, err := netns.GetFromPath(space.path)
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", space.Node, err)
	}
	link, err := netlink.NewHandleAt(handle, unix.NETLINK_ROUTE)
	if err != nil {
		_ = handle.Close()
		return nil, fmt.Errorf("netlink in namespace %s: %w", space.Node, err)
	}
	return &kernel{link, handle}, nil
}

func (k *kernel) close() {
	k.Handle.Close()
	_ = k.space.Close()
}

func (k *kernel) bringUp(name string) error {
	link, err := k.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return k.LinkSetUp(link)
}

// addHub makes a bridge with addresses of its own, and sets its hardware address. Otherwise the kernel changes that
// address when nodes come and go, and other nodes would send to the old one.
func (k *kernel) addHub(hub topology.Hub) error {
	bridge := &netlink.Bridge{LinkAttrs: attributes(hub.Name)}
	bridge.HardwareAddr = hardwareAddress(hub.Name)
	if err := k.LinkAdd(bridge); err != nil {
		return err
	}
	if err := k.addAddresses(hub.Name, hub.Addresses); err != nil {
		return err
	}
	return k.LinkSetUp(bridge)
}

// addLink makes a pair of interfaces: one in this node, and one in the hub's node, which is named after this node.
func (k *kernel) addLink(to *Namespace, node string, link topology.Link) error {
	there, err := open(to)
	if err != nil {
		return err
	}
	defer there.close()
	hub, err := there.LinkByName(link.Hub)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", link.Hub, to.Node, err)
	}
	port := attributes(node)
	port.MasterIndex = hub.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: port, PeerName: link.Interface, PeerNamespace: netlink.NsFd(k.space),
		PeerHardwareAddr: hardwareAddress(node)}
	if err := there.LinkAdd(pair); err != nil {
		return err
	}
	if err := there.LinkSetUp(pair); err != nil {
		return err
	}
	if err := k.addAddresses(link.Interface, link.Addresses); err != nil {
		return err
	}
	if err := k.bringUp(link.Interface); err != nil {
		return err
	}
	for _, gateway := range link.Gateways {
		if err := k.addDefault(gateway); err != nil {
			return fmt.Errorf("default route by %s: %w", gateway, err)
		}
	}
	return nil
}

// hardwareAddress depends on the node's name only. Its neighbours remember it for minutes, and would send to a wrong
// address if a node came back with another one.
func hardwareAddress(node string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(node))
	return append(net.HardwareAddr{0x02}, sum[:5]...) // 02: unicast, assigned locally
}

// deleteLinks takes both ends of every pair away.
func (k *kernel) deleteLinks() error {
	links, err := k.LinkList()
	if err != nil {
		return err
	}
	for _, link := range links {
		if link.Type() != "veth" {
			continue
		}
		if err := k.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("%s: %w", link.Attrs().Name, err)
		}
	}
	return nil
}

func (k *kernel) addAddresses(name string, addresses []netip.Prefix) error {
	link, err := k.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, address := range addresses {
		if err := k.AddrAdd(link, &netlink.Addr{IPNet: ipNet(address)}); err != nil {
			return fmt.Errorf("address %s on %s: %w", address, name, err)
		}
	}
	return nil
}

func (k *kernel) addDefault(gateway netip.Addr) error {
	everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if gateway.Is6() {
		everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return k.RouteAdd(&netlink.Route{Dst: ipNet(everywhere), Gw: gateway.AsSlice()})
}

// Cut disconnects a node at the switch. The other side keeps its addresses and routes, and gets no notice.
func (s *Namespace) Cut(node string) error { return s.withLink(node, (*netlink.Handle).LinkSetDown) }

// Connect puts the plug in again.
func (s *Namespace) Connect(node string) error { return s.withLink(node, (*netlink.Handle).LinkSetUp) }

func (s *Namespace) withLink(name string, do func(*netlink.Handle, netlink.Link) error) error {
	k, err := open(s)
	if err != nil {
		return err
	}
	defer k.close()
	link, err := k.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", name, s.Node, err)
	}
	return do(k.Handle, link)
}

// Blackhole drops packets from these addresses that the node would forward, until it is lifted.
func (s *Namespace) Blackhole(from netip.Prefix) (lift func() error, err error) {
	k, err := open(s)
	if err != nil {
		return nil, err
	}
	rule := netlink.NewRule()
	rule.Src, rule.Type, rule.Priority = ipNet(from), unix.RTN_BLACKHOLE, 1
	if err := k.RuleAdd(rule); err != nil {
		k.close()
		return nil, fmt.Errorf("a rule in %s: %w", s.Node, err)
	}
	return func() error {
		defer k.close()
		return k.RuleDel(rule)
	}, nil
}

// Route is where a node sends what goes to a prefix.
type Route struct {
	Prefix   netip.Prefix `json:"prefix"`
	NextHops []netip.Addr `json:"next_hops"`
}

// NextHops are the gateways of the node's route to exactly this prefix.
func (s *Namespace) NextHops(prefix netip.Prefix) ([]netip.Addr, error) {
	routes, err := s.Routes([]netip.Prefix{prefix})
	for _, route := range routes {
		if route.Prefix == prefix {
			return route.NextHops, err
		}
	}
	return nil, err
}

// Routes lists the routes to prefixes within others.
func (s *Namespace) Routes(within []netip.Prefix) ([]Route, error) {
	k, err := open(s)
	if err != nil {
		return nil, err
	}
	defer k.close()
	all, err := k.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var found []Route
	for _, route := range all {
		prefix := prefixOf(route.Dst)
		if !slices.ContainsFunc(within, func(w netip.Prefix) bool {
			return w.Overlaps(prefix) && w.Bits() <= prefix.Bits()
		}) {
			continue
		}
		r := Route{Prefix: prefix}
		for _, gateway := range gateways(route) {
			hop, _ := netip.AddrFromSlice(gateway)
			r.NextHops = append(r.NextHops, hop.Unmap())
		}
		slices.SortFunc(r.NextHops, netip.Addr.Compare)
		found = append(found, r)
	}
	return found, nil
}

func prefixOf(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	address, _ := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address.Unmap(), bits)
}

func gateways(route netlink.Route) []net.IP {
	if route.Gw != nil {
		return []net.IP{route.Gw}
	}
	var all []net.IP
	for _, hop := range route.MultiPath {
		all = append(all, hop.Gw)
	}
	return all
}

func attributes(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
