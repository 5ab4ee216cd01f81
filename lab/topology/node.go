package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Names of namespaces, and of the interfaces in them.
const (
	RouterName     = "router"
	ControllerName = "controller"

	uplink         = "eth0" // to the router
	managementLink = "mgmt0"
)

// Node is one namespace and its links.
type Node struct {
	Name    string
	Hubs    []Hub
	Links   []Link
	Sysctls map[string]string
}

// Hub is a switch inside a node, and the node's own addresses on it.
type Hub struct {
	Name      string
	Addresses []netip.Prefix
}

// Link joins a node to a hub of another one.
type Link struct {
	Interface string
	To        string // the node
	Hub       string // in that node
	Addresses []netip.Prefix
	Gateways  []netip.Addr // default routes, by family
}

// The router is .1 of each network, and hosts begin at .11.
const (
	gatewayHost = 1
	firstHost   = 10
)

// flowFields are addresses, protocol and ports (Linux, networking/ip-sysctl: fib_multipath_hash_fields).
const flowFields = "55"

// Router is the namespace in the middle. It has an interface for the network of each group.
func (t Topology) RouterNode() Node {
	return Node{
		Name: RouterName,
		Hubs: []Hub{
			{"engines", t.Engines.hosts(gatewayHost, 1)},
			{"servers", t.Servers.hosts(gatewayHost, 1)},
			{"clients", t.Clients.hosts(gatewayHost, 1)},
		},
		Sysctls: map[string]string{
			"net.ipv4.ip_forward":          "1",
			"net.ipv6.conf.all.forwarding": "1",
			// Hash flows, and not pairs of addresses, so that a client's connections go to all engines. Hash the
			// packet's fields, as a separate router would: policy 1 uses the hash of the sender's socket, which other
			// namespaces pass on, and which changes whenever the sender retransmits.
			"net.ipv4.fib_multipath_hash_policy": "3",
			"net.ipv6.fib_multipath_hash_policy": "3",
			"net.ipv4.fib_multipath_hash_fields": flowFields,
			"net.ipv6.fib_multipath_hash_fields": flowFields,
		},
	}
}

// ControllerNode has the switch of the management network. So engines reach the controller whatever happens to the
// router, and each of the two can be cut off alone.
func (t Topology) ControllerNode() Node {
	return Node{Name: ControllerName, Hubs: []Hub{{"management", t.Management.hosts(gatewayHost, 1)}}}
}

// EngineName is the name of the engine with this number, from 1 on.
func EngineName(number int) string { return "engine-" + strconv.Itoa(number) }

// EngineNode is the engine of this name. Only names from EngineName have a place in the topology.
func (t Topology) EngineNode(name string) (Node, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(name, "engine-"))
	if err != nil || name != EngineName(number) || number < 1 || number > t.Engines.limit() {
		return Node{}, fmt.Errorf("%q is no engine of %s: it has engine-1 to engine-%d", name, t.Name,
			t.Engines.limit())
	}
	return t.engine(number), nil
}

func (t Topology) engine(number int) Node {
	return Node{
		Name: EngineName(number),
		Links: []Link{
			{uplink, RouterName, "engines", t.Engines.hosts(firstHost+number, 1), t.Engines.gateways()},
			{managementLink, ControllerName, "management", t.Management.hosts(firstHost+number, 1), nil},
		},
	}
}

// EngineNames are all engines that there may be.
func (t Topology) EngineNames() (names []string) {
	for number := range t.Engines.limit() {
		names = append(names, EngineName(number+1))
	}
	return names
}

// EngineNodes are those that the topology begins with.
func (t Topology) EngineNodes() []Node { return t.engines(t.Engines.Count) }

func (t Topology) engines(count int) []Node {
	var nodes []Node
	for number := range count {
		nodes = append(nodes, t.engine(number+1))
	}
	return nodes
}

// Nodes are all that there may be.
func (t Topology) Nodes() []Node {
	return slices.Concat([]Node{t.RouterNode(), t.ControllerNode()}, t.engines(t.Engines.limit()),
		t.ServerNodes(), t.ClientNodes())
}

// ServerNodes are server-1 and so on.
func (t Topology) ServerNodes() []Node { return t.Servers.nodes("server", "servers") }

// ClientNodes are client-1 and so on, each with all its addresses.
func (t Topology) ClientNodes() []Node { return t.Clients.nodes("client", "clients") }

func (g Group) nodes(kind, hub string) []Node {
	var nodes []Node
	for i := range g.Count {
		nodes = append(nodes, Node{
			Name:  fmt.Sprintf("%s-%d", kind, i+1),
			Links: []Link{{uplink, RouterName, hub, g.hosts(firstHost+i*g.each()+1, g.each()), g.gateways()}},
			// The near end of every connection is here: allow all ports, and reuse of those in TIME_WAIT.
			Sysctls: map[string]string{"net.ipv4.ip_local_port_range": "1024 65535", "net.ipv4.tcp_tw_reuse": "1"},
		})
	}
	return nodes
}

// hosts are count addresses, beginning with this host number, in each subnet.
func (g Group) hosts(first, count int) []netip.Prefix {
	var addresses []netip.Prefix
	for _, subnet := range g.Subnets {
		for i := range count {
			bytes := subnet.Addr().AsSlice()
			bytes[len(bytes)-1] += byte(first + i)
			address, _ := netip.AddrFromSlice(bytes)
			addresses = append(addresses, netip.PrefixFrom(address, subnet.Bits()))
		}
	}
	return addresses
}

func (g Group) gateways() []netip.Addr {
	var gateways []netip.Addr
	for _, host := range g.hosts(gatewayHost, 1) {
		gateways = append(gateways, host.Addr())
	}
	return gateways
}

// Address is where others reach the node: its first.
func (n Node) Address() netip.Addr { return n.Addresses()[0] }

// Addresses are all that its interfaces have.
func (n Node) Addresses() []netip.Addr {
	var all []netip.Addr
	for _, hub := range n.Hubs {
		all = appendAddresses(all, hub.Addresses)
	}
	for _, link := range n.Links {
		all = appendAddresses(all, link.Addresses)
	}
	return all
}

func appendAddresses(all []netip.Addr, prefixes []netip.Prefix) []netip.Addr {
	for _, prefix := range prefixes {
		all = append(all, prefix.Addr())
	}
	return all
}
