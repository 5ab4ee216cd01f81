package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/weir-lb/weir/lab/topology"
)

func small(t *testing.T, name string) topology.Topology {
	t.Helper()
	top, err := topology.Load("../seed.toml")
	if err != nil {
		t.Fatal(err)
	}
	top.Name = fmt.Sprintf("%s-%d", name, os.Getpid())
	top.Engines.Count, top.Servers.Count, top.Clients.Count = 2, 1, 1
	return top
}

// build builds all nodes of a small topology, and takes them down with the test.
func build(t *testing.T, name string) (*Network, topology.Topology) {
	t.Helper()
	if err := CheckRoot(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	top := small(t, name)
	n, err := Create(top.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	for _, node := range slices.Concat([]topology.Node{top.RouterNode(), top.ControllerNode()}, top.EngineNodes(),
		top.ServerNodes(), top.ClientNodes()) {
		if _, err := n.Attach(node); err != nil {
			t.Fatal(err)
		}
	}
	return n, top
}

func TestNamespacesOfOthersAreNotInTheWay(t *testing.T) {
	n, _ := build(t, "neighbour")
	other := "other-" + n.Name
	for _, verb := range []string{"add", "del"} {
		if out, err := exec.Command("ip", "netns", verb, other).CombinedOutput(); err != nil {
			t.Fatalf("ip netns %s: %v: %s", verb, err, out)
		}
	}
	if err := n.Remove(); err != nil {
		t.Error(err)
	}
}

func (n *Network) must(t *testing.T, node string) *Namespace {
	t.Helper()
	space, err := n.Namespace(node)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// listen takes connections in a namespace until the test ends.
func listen(t *testing.T, space *Namespace, address string) net.Listener {
	t.Helper()
	var listener net.Listener
	err := space.Run(func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// patience is how long what must come may take, on a machine that is busy; silence is how long nothing may have come
// from what cannot be reached: three SYNs.
const (
	patience = time.Minute
	silence  = 8 * time.Second
)

// reach dials and says from where the other end was reached.
func reach(t *testing.T, within time.Duration, space *Namespace, address string) (from netip.AddrPort, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	connection, err := space.Dial(ctx, "tcp", address)
	if err != nil {
		return from, err
	}
	defer connection.Close()
	return netip.ParseAddrPort(connection.LocalAddr().String())
}

func TestClientsReachServersAndEnginesThroughTheRouter(t *testing.T) {
	n, _ := build(t, "reach")
	client := n.must(t, "client-1")
	for node, addresses := range map[string][]string{
		"server-1": {"10.2.0.11:80", "[fd00:2::b]:80"}, "engine-2": {"10.1.0.12:80", "[fd00:1::c]:80"},
	} {
		for _, address := range addresses {
			listen(t, n.must(t, node), address)
			from, err := reach(t, patience, client, address)
			if err != nil || !netip.MustParsePrefix("10.3.0.0/24").Contains(from.Addr()) &&
				!netip.MustParsePrefix("fd00:3::/64").Contains(from.Addr()) {
				t.Errorf("%s: from %v, %v", address, from, err)
			}
		}
	}
}

func TestAClientHasAllItsAddresses(t *testing.T) {
	n, top := build(t, "many")
	listen(t, n.must(t, "server-1"), "10.2.0.11:80")
	for _, address := range top.ClientNodes()[0].Links[0].Addresses[:top.Clients.Addresses] {
		err := n.must(t, "client-1").Run(func() error {
			dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(address.Addr(), 0)),
				Timeout: patience}
			connection, err := dialer.Dial("tcp", "10.2.0.11:80")
			if err == nil {
				err = connection.Close()
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestEnginesReachTheControllerWithoutTheRouter(t *testing.T) {
	n, _ := build(t, "local")
	engine := n.must(t, "engine-1")
	listen(t, n.must(t, "controller"), "10.0.0.1:9444")
	router := n.must(t, "router")
	if err := router.Cut("engine-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := reach(t, patience, engine, "10.0.0.1:9444"); err != nil {
		t.Errorf("cut off from the router, it does not reach the controller: %v", err)
	}
	if _, err := reach(t, silence, router, "10.0.0.1:9444"); err == nil {
		t.Error("the router reaches the controller")
	}
}

func TestACutIsSilentAndCanBeMended(t *testing.T) {
	n, _ := build(t, "cut")
	listen(t, n.must(t, "engine-1"), "10.1.0.11:80")
	client, router := n.must(t, "client-1"), n.must(t, "router")
	for _, step := range []struct {
		do      func(string) error
		within  time.Duration
		reaches bool
	}{{router.Cut, silence, false}, {router.Connect, patience, true}} {
		if err := step.do("engine-1"); err != nil {
			t.Fatal(err)
		}
		_, err := reach(t, step.within, client, "10.1.0.11:80")
		if (err == nil) != step.reaches {
			t.Errorf("reaches: want %v, got %v", step.reaches, err)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the cut was told: %v", err)
		}
	}
}

func TestNoNamespaceReachesTheHostOrIsLinkedToIt(t *testing.T) {
	before := hostLinks(t)
	n, _ := build(t, "walls")
	if after := hostLinks(t); !slices.Equal(before, after) {
		t.Errorf("the host's interfaces were %v and are %v", before, after)
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	spaces, err := n.Namespaces()
	if err != nil || len(spaces) != 6 {
		t.Fatalf("%d namespaces, %v", len(spaces), err)
	}
	for _, space := range spaces {
		for _, address := range append(hostAddresses(t), "127.0.0.1") {
			if _, err := reach(t, silence, space, net.JoinHostPort(address, port)); err == nil {
				t.Errorf("%s reaches the host at %s", space.Node, address)
			}
		}
		if linked(t, space, "/proc/self/ns/net") {
			t.Errorf("%s has a link to the host", space.Node)
		}
	}
}

func TestALinkBetweenTwoNamespacesIsSeen(t *testing.T) {
	n, _ := build(t, "linked")
	router, engine, controller := n.must(t, "router"), n.must(t, "engine-1"), n.must(t, "controller")
	for _, c := range []struct {
		from, to *Namespace
		want     bool
	}{{engine, router, true}, {router, engine, true}, {engine, controller, true}, {router, controller, false},
		{controller, router, false}} {
		if got := linked(t, c.from, c.to.path); got != c.want {
			t.Errorf("%s to %s: want %v, got %v", c.from.Node, c.to.Node, c.want, got)
		}
	}
}

func hostLinks(t *testing.T) (names []string) {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		names = append(names, link.Name)
	}
	return names
}

func hostAddresses(t *testing.T) (addresses []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range all {
		if ip := address.(*net.IPNet).IP; ip.IsGlobalUnicast() {
			addresses = append(addresses, ip.String())
		}
	}
	return addresses
}

// linked tells whether a namespace has a link to another: then the kernel has given the other one a number there.
func linked(t *testing.T, space *Namespace, to string) bool {
	t.Helper()
	other, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	k, err := open(space)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	if _, err := k.LinkList(); err != nil { // numbers are given when links are told of
		t.Fatal(err)
	}
	id, err := k.GetNetNsIdByFd(int(other.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return id != -1
}

func TestAnEngineCanComeAndGoWhileTheNetworkStands(t *testing.T) {
	n, top := build(t, "grow")
	node, err := top.EngineNode("engine-64")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		space, err := n.Attach(node)
		if err != nil {
			t.Fatal(err)
		}
		listen(t, space, "10.1.0.74:80")
		if _, err := reach(t, patience, n.must(t, "client-1"), "10.1.0.74:80"); err != nil {
			t.Error(err)
		}
		if err := n.Detach(node.Name); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Namespace(node.Name); err == nil {
			t.Error("the namespace is still there")
		}
	}
	if _, err := n.Attach(top.RouterNode()); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second router: got %v", err)
	}
}

func TestRemoveEndsWhateverRunsInTheNetwork(t *testing.T) {
	n, _ := build(t, "end")
	stubborn := exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 1000; done")
	frozen := exec.Command("sleep", "1000")
	for node, command := range map[string]*exec.Cmd{"engine-1": stubborn, "server-1": frozen} {
		if err := n.must(t, node).Start(command); err != nil {
			t.Fatal(err)
		}
		go func() { _ = command.Wait() }()
	}
	if err := n.must(t, "server-1").Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	found, err := n.must(t, "server-1").Processes()
	if err != nil || len(found) != 1 || found[0].PID != frozen.Process.Pid || found[0].Program != "sleep" {
		t.Errorf("found %v, %v", found, err)
	}
	if err := n.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(namesDir, "*."+n.Name+".*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	for _, command := range []*exec.Cmd{stubborn, frozen} {
		if err := syscall.Kill(command.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%v: still there: %v", command.Args, err)
		}
	}
}

func TestReadsTheNextHopsOfARoute(t *testing.T) {
	n, _ := build(t, "hops")
	router := n.must(t, "router")
	k, err := open(router)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	vip, hops := netip.MustParsePrefix("3.3.3.3/32"), []netip.Addr{netip.MustParseAddr("10.1.0.11"),
		netip.MustParseAddr("10.1.0.12")}
	var several []*netlink.NexthopInfo
	for _, hop := range hops {
		several = append(several, &netlink.NexthopInfo{Gw: hop.AsSlice()})
	}
	for _, route := range []netlink.Route{{MultiPath: several}, {Gw: several[0].Gw}} {
		route.Dst = ipNet(vip)
		if err := k.RouteReplace(&route); err != nil {
			t.Fatal(err)
		}
		want := hops[:max(1, len(route.MultiPath))]
		if got, err := router.NextHops(vip); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	if got, err := router.NextHops(netip.MustParsePrefix("3.3.3.4/32")); err != nil || len(got) > 0 {
		t.Errorf("a prefix without a route: %v, %v", got, err)
	}
}

func TestSaysThatOnlyRootMayBuild(t *testing.T) {
	if err := ErrNotRoot.Error(); !strings.Contains(err, "sudo") {
		t.Error(err)
	}
	if os.Geteuid() != 0 && !errors.Is(CheckRoot(), ErrNotRoot) {
		t.Error("whoever this is may build")
	}
}
