package topology

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

func seed(t *testing.T) Topology {
	t.Helper()
	top, err := Load("../seed.toml")
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func fileText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../seed.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheSeedIsTheReportsTopology(t *testing.T) {
	top := seed(t)
	r := top.Router
	if r.Kind != FRR || r.AS != 65000 || r.EnginesAS != 65000 || r.KeepaliveS != 60 || r.HoldS != 180 ||
		r.MaximumPaths != 64 {
		t.Errorf("router: %+v", r)
	}
	if !top.VIPs[0].Contains(netip.MustParseAddr("3.3.3.3")) || top.Servers.Count != 3 || top.Engines.Max != 64 {
		t.Errorf("%+v", top)
	}
}

func TestEveryNodeHasItsAddresses(t *testing.T) {
	top := seed(t)
	far, err := top.EngineNode("engine-64")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		node Node
		want string
	}{
		{top.EngineNodes()[0],
			"engine-1 eth0 router/engines [10.1.0.11/24 fd00:1::b/64] [10.1.0.1 fd00:1::1]; mgmt0 controller/management [10.0.0.11/24] []"},
		{far,
			"engine-64 eth0 router/engines [10.1.0.74/24 fd00:1::4a/64] [10.1.0.1 fd00:1::1]; mgmt0 controller/management [10.0.0.74/24] []"},
		{top.ServerNodes()[2], "server-3 eth0 router/servers [10.2.0.13/24 fd00:2::d/64] [10.2.0.1 fd00:2::1]"},
	} {
		var links []string
		for _, l := range c.node.Links {
			links = append(links, fmt.Sprintf("%s %s/%s %v %v", l.Interface, l.To, l.Hub, l.Addresses, l.Gateways))
		}
		if got := c.node.Name + " " + strings.Join(links, "; "); got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
	if got := top.ControllerNode().Address(); got != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("controller: %v", got)
	}
	if got := far.Address(); got != netip.MustParseAddr("10.1.0.74") {
		t.Errorf("engine-64: %v", got)
	}
}

func TestClientsHaveSeveralAddressesAndShareNone(t *testing.T) {
	var all []netip.Prefix
	for _, client := range seed(t).ClientNodes() {
		all = append(all, client.Links[0].Addresses...)
	}
	if len(all) != 2*2*8 {
		t.Errorf("%d addresses", len(all))
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	if unique := slices.Compact(slices.Clone(all)); len(unique) != len(all) {
		t.Errorf("some are shared: %v", all)
	}
}

func TestOnlyEnginesOfTheTopologyHaveAPlaceInIt(t *testing.T) {
	for _, name := range []string{"engine-0", "engine-65", "engine-01", "engine-+1", "engine-", "1", "router", ""} {
		if node, err := seed(t).EngineNode(name); err == nil {
			t.Errorf("%q: got %+v", name, node)
		}
	}
}

func TestSaysWhatIsWrongWithAFile(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`name = "seed"`, `name = "Seed"`, `name: "Seed" is not 1 to 32 small letters, digits and -`},
		{`name = "seed"`, `name = "a.b"`, `name: "a.b" is not 1 to 32 small letters, digits and -`},
		{`"frr"`, `"cisco"`, `router: kind: "cisco" is neither "frr" nor "bird"`},
		{`hold_s        = 180`, `hold_s = 100`,
			"router: hold_s: must be at least three times keepalive_s, which is at least 1"},
		{`maximum_paths = 64`, `maximum_paths = 65`, "router: maximum_paths: must be 1 to 64"},
		{`bfd_ms        = 300`, `bfd_ms = 10`, "router: bfd_ms: must be 50 to 4000, or 0 for no BFD"},
		{`max     = 64`, `max = 65`, "engines: count: must be 0 to 64"},
		{`max     = 64`, `most = 64`, "engines.most: is unknown"},
		{`"10.2.0.0/24"`, `"10.2.0.1/24"`, "servers: subnets: 10.2.0.1/24 has host bits: it is 10.2.0.0/24"},
		{`"10.2.0.0/24"`, `"10.2.0.0/28"`,
			"servers: subnets: 10.2.0.0/28 is too small: a subnet is at least a /24 or /120, and takes up to 243 addresses"},
		{`addresses = 8`, `addresses = 200`,
			"clients: subnets: 10.3.0.0/24 is too small: a subnet is at least a /24 or /120, and takes up to 243 addresses"},
		{`"10.2.0.0/24"`, `"10.1.0.0/16"`, "10.1.0.0/24 and 10.1.0.0/16 overlap"},
		{`["10.1.0.0/24", "fd00:1::/64"]`, `["fd00:1::/64"]`,
			"engines: subnets: the first must be of IPv4: the router takes its identifier from it"},
		{`"10.1.0.0/24", "fd00:1::/64"`, `"10.1.0.0/24", "10.9.0.0/24"`,
			"engines: subnets: give one of IPv4 and at most one of IPv6: engines have one session with the router in each"},
		{`"10.1.0.0/24", "fd00:1::/64"`, `"10.1.0.0/24", "fd00:1::/64", "fd00:9::/64"`,
			"engines: subnets: give one of IPv4 and at most one of IPv6: engines have one session with the router in each"},
		{`"3.3.3.0/24"`, `"3.3.3.3/24"`, "vips: 3.3.3.3/24 has host bits: it is 3.3.3.0/24"},
		{`bfd_ms        = 300`, "password = 'a\"; b'",
			"router: password: must be at most 80 letters, digits and ._~+/=@%-"},
		{`bfd_ms        = 300`, `password = "a\n b"`,
			"router: password: must be at most 80 letters, digits and ._~+/=@%-"},
		{`as            = 65000`, `as = 0`, "router: as, engines_as: give the numbers of autonomous systems"},
	} {
		text := fileText(t)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := Parse(strings.Replace(text, c.old, c.new, 1))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.new, err, c.want)
		}
	}
}
