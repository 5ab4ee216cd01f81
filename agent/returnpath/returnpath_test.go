package returnpath

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/tests/alone"
)

const (
	client, server   = "10.3.0.9", "10.2.0.2"
	client6, server6 = "fd00:3::9", "fd00:2::2"
)

// planOf is a Plan in which servers see the addresses of clients.
func planOf(t *testing.T, servers ...string) *plan.Plan {
	t.Helper()
	pool := &dataplanev1.Pool{Uuid: "pool"}
	for _, each := range servers {
		at := netip.MustParseAddrPort(each)
		pool.Servers = append(pool.Servers, &dataplanev1.Server{Id: each, Address: at.Addr().String(),
			Port: uint32(at.Port())})
	}
	service := &dataplanev1.VirtualService{Uuid: "vs", Name: "dns", PoolUuid: "pool",
		Udp: &dataplanev1.UdpProfile{KeepClientAddress: true}}
	read, findings := plan.Read(&enginev1.Plan{Resources: []*enginev1.Resource{
		{Uuid: "pool", Body: &enginev1.Resource_Pool{Pool: &enginev1.Pool{Pool: pool}}},
		{Uuid: "vs", Body: &enginev1.Resource_VirtualService{VirtualService: service}},
	}})
	if findings != nil {
		t.Fatal(findings)
	}
	return read
}

// newSet is the return path of an engine of this name.
func newSet(engine string, keep bool) (s *Set, said *bytes.Buffer) {
	said = new(bytes.Buffer)
	return New(Config{EngineUUID: func() string { return engine }, Keep: keep,
		Log: slog.New(slog.NewTextHandler(said, nil))}), said
}

// standAlone gives the test a network namespace between clients and servers. Needs root.
func standAlone(t *testing.T) {
	t.Helper()
	alone.Stand(t)
	for _, each := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		must(t, os.WriteFile("/proc/sys/net/"+each, []byte("1"), 0o644))
	}
	addLink(t, "clients", "10.3.0.1/24", "fd00:3::1/64")
	addLink(t, "servers", "10.2.0.1/24", "fd00:2::1/64")
}

func addLink(t *testing.T, name string, addresses ...string) {
	t.Helper()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	link := &netlink.Veth{LinkAttrs: attributes, PeerName: name + "-peer"}
	must(t, netlink.LinkAdd(link))
	for _, each := range addresses {
		address, err := netlink.ParseAddr(each)
		must(t, err)
		if address.IP.To4() == nil {
			address.Flags = unix.IFA_F_NODAD
		}
		must(t, netlink.AddrAdd(link, address))
	}
	peer, err := netlink.LinkByName(link.PeerName)
	must(t, err)
	must(t, netlink.LinkSetUp(peer))
	must(t, netlink.LinkSetUp(link))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rules are all rules of the namespace but the kernel's own, by their priorities.
func rules(t *testing.T) (priorities []int) {
	t.Helper()
	for _, family := range families {
		all, err := netlink.RuleList(family)
		must(t, err)
		for _, each := range all {
			if each.Priority != 0 && each.Priority < 32766 {
				priorities = append(priorities, each.Priority)
			}
		}
	}
	slices.Sort(priorities)
	return priorities
}

// routes counts the routes of a table.
func routes(t *testing.T, table int) (count int) {
	t.Helper()
	for _, family := range families {
		all, err := netlink.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
		must(t, err)
		count += len(all)
	}
	return count
}

// delivers tells whether a packet is delivered to this machine, rather than passed on.
func delivers(t *testing.T, protocol int, from, to string, port uint16) bool {
	t.Helper()
	found, err := ask(protocol, from, to, port)
	if err != nil {
		t.Fatalf("%d from %s port %d to %s: %v", protocol, from, port, to, err)
	}
	return found == unix.RTN_LOCAL
}

func TestOnlyDatagramsFromThePortsOfServersAreDelivered(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	if findings := s.Expect(planOf(t, server+":53", "["+server6+"]:53", "10.2.0.3:65535")); findings != nil {
		t.Fatal(findings)
	}
	for _, c := range []struct {
		what     string
		protocol int
		from, to string
		port     uint16
		want     bool
	}{
		{"an answer", unix.IPPROTO_UDP, server, client, 53, true},
		{"an answer over IPv6", unix.IPPROTO_UDP, server6, client6, 53, true},
		{"a fragment of an answer", unix.IPPROTO_UDP, server, client, 0, true},
		{"a fragment over IPv6", unix.IPPROTO_UDP, server6, client6, 0, true},
		{"an answer from the last port", unix.IPPROTO_UDP, "10.2.0.3", client, 65535, true},
		{"a datagram from another port", unix.IPPROTO_UDP, server, client, 5353, false},
		{"a datagram from another port over IPv6", unix.IPPROTO_UDP, server6, client6, 5353, false},
		{"a datagram of another machine", unix.IPPROTO_UDP, "10.2.0.4", client, 53, false},
		{"a fragment of another machine", unix.IPPROTO_UDP, "10.2.0.4", client, 0, false},
		{"TCP", unix.IPPROTO_TCP, server, client, 53, false},
		{"TCP over IPv6", unix.IPPROTO_TCP, server6, client6, 53, false},
		{"an ICMP error", unix.IPPROTO_ICMP, server, client, 0, false},
		{"an ICMP error over IPv6", unix.IPPROTO_ICMPV6, server6, client6, 0, false},
	} {
		if got := delivers(t, c.protocol, c.from, c.to, c.port); got != c.want {
			t.Errorf("%s is delivered: %v", c.what, got)
		}
	}
	if said.Len() != 0 {
		t.Error(said)
	}
}

func TestRulesComeBeforeThePlanServesAndGoWithTheLastThatNeedsThem(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	table := firstOf("engine")
	first, second := planOf(t, server+":53"), planOf(t, "10.2.0.3:53")
	expect := func(when string, one, other bool) {
		t.Helper()
		if delivers(t, unix.IPPROTO_UDP, server, client, 53) != one ||
			delivers(t, unix.IPPROTO_UDP, "10.2.0.3", client, 53) != other {
			t.Errorf("%s: %v", when, rules(t))
		}
	}
	s.Expect(first)
	expect("a Plan comes", true, false)
	s.Hold(first)
	expect("it serves", true, false)
	s.Expect(second)
	expect("another comes", true, true)
	s.Refused(planOf(t))
	expect("one before it is refused", true, true)
	s.Refused(second)
	expect("it is refused", true, false)
	s.Expect(second)
	s.Hold(second)
	expect("it serves after all", false, true)
	s.Hold(planOf(t))
	expect("the last server is gone", false, false)
	if left := rules(t); len(left) > 0 || routes(t, table) > 0 {
		t.Errorf("left are %v and %d routes", left, routes(t, table))
	}
	if said.Len() != 0 {
		t.Error(said)
	}
}

func TestRulesOfAllPlansOnTheirWayStayWhenOneCannotServe(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	s.Hold(planOf(t))
	first, second := planOf(t, server+":53"), planOf(t, "10.2.0.3:53")
	s.Expect(first)
	s.Expect(second)
	refused := planOf(t, "10.2.0.1:53") // which is on this engine
	if s.Expect(refused) == nil {
		t.Fatal("it is not refused")
	}
	s.Refused(refused)
	for _, each := range []string{server, "10.2.0.3"} {
		if !delivers(t, unix.IPPROTO_UDP, each, client, 53) {
			t.Errorf("answers of %s are passed on: %v", each, rules(t))
		}
	}
	s.Hold(second)
	if delivers(t, unix.IPPROTO_UDP, server, client, 53) || said.Len() != 0 {
		t.Errorf("the first was overtaken, and there are %v: %s", rules(t), said)
	}
}

func TestRulesOfACrashAreRemovedAndThoseOfOthersStay(t *testing.T) {
	standAlone(t)
	crashed, _ := newSet("engine", false)
	crashed.Expect(planOf(t, server+":53", "["+server6+"]:53"))
	other, _ := newSet("another engine", false)
	other.Expect(planOf(t, "10.2.0.3:53"))
	foreign := netlink.NewRule()
	foreign.Priority, foreign.Table, foreign.Family = firstOf("engine")+answer, 7, unix.AF_INET
	must(t, netlink.RuleAdd(foreign))

	next, said := newSet("engine", false)
	next.Hold(planOf(t, server+":54"))
	for port, want := range map[uint16]bool{53: false, 54: true} {
		if got := delivers(t, unix.IPPROTO_UDP, server, client, port); got != want {
			t.Errorf("port %d is delivered: %v", port, got)
		}
	}
	next.Close()
	other.Close()
	if left := rules(t); !slices.Equal(left, []int{foreign.Priority}) || said.Len() != 0 {
		t.Errorf("left are %v: %s", left, said)
	}
}

func TestNextAgentTakesRulesOverThatWereKept(t *testing.T) {
	standAlone(t)
	served := planOf(t, server+":53")
	before, _ := newSet("engine", true)
	before.Expect(served)
	before.Hold(served)
	before.Close()
	kept := rules(t)
	if len(kept) != blockLen || routes(t, firstOf("engine")) != 1 {
		t.Fatalf("kept are %v", kept)
	}
	next, said := newSet("engine", false)
	next.Expect(served)
	if now := rules(t); !slices.Equal(now, kept) {
		t.Errorf("%v became %v", kept, now)
	}
	next.Close()
	if left := rules(t); len(left) > 0 || said.Len() != 0 {
		t.Errorf("left are %v: %s", left, said)
	}
}

func TestRulesThatSomebodyRemovesComeBack(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	served := planOf(t, server+":53")
	s.Expect(served)
	s.Hold(served)
	for _, each := range rulesFor(served.Answerers()) {
		must(t, s.kernel.remove(each))
	}
	must(t, s.kernel.undeliver(false))
	for range attendEvery {
		s.Attend()
	}
	if !delivers(t, unix.IPPROTO_UDP, server, client, 53) || said.Len() != 0 {
		t.Errorf("there are %v: %s", rules(t), said)
	}
}

func TestWhatCouldNotBeRemovedIsRemovedLaterAndWhatAComingPlanNeedsStays(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	first := planOf(t, server+":53")
	s.Expect(first)
	s.Hold(first)
	raise := lower(t)
	s.Hold(planOf(t))
	if len(rules(t)) != blockLen || !strings.Contains(said.String(), "operation not permitted") {
		t.Errorf("there are %v: %s", rules(t), said)
	}
	raise()
	second := planOf(t, server+":54")
	s.Expect(second)
	s.Attend()
	for port, want := range map[uint16]bool{53: false, 54: true} {
		if got := delivers(t, unix.IPPROTO_UDP, server, client, port); got != want {
			t.Errorf("port %d is delivered: %v", port, got)
		}
	}
	s.Refused(second)
	if left := rules(t); len(left) > 0 || routes(t, firstOf("engine")) > 0 {
		t.Errorf("left are %v and %d routes", left, routes(t, firstOf("engine")))
	}
}

func TestFirstPlanThatIsRefusedLeavesNothing(t *testing.T) {
	standAlone(t)
	s, said := newSet("engine", false)
	first := planOf(t, server+":53", "["+server6+"]:53")
	s.Expect(first)
	s.Refused(first)
	if left := rules(t); len(left) > 0 || routes(t, firstOf("engine")) > 0 || said.Len() != 0 {
		t.Errorf("left are %v and %d routes: %s", left, routes(t, firstOf("engine")), said)
	}
}

func TestRulesOfAnAgentThatDiedServeUntilItIsKnownWhatServes(t *testing.T) {
	standAlone(t)
	newer := planOf(t, server+":53", "10.2.0.3:53")
	died, _ := newSet("engine", true)
	died.Expect(newer)
	older := planOf(t, server+":53", "10.2.0.4:53")
	next, said := newSet("engine", true)
	expect := func(when string, want ...string) {
		t.Helper()
		for _, each := range []string{server, "10.2.0.3", "10.2.0.4", "10.2.0.5"} {
			if delivers(t, unix.IPPROTO_UDP, each, client, 53) != slices.Contains(want, each) {
				t.Errorf("%s: answers of %s", when, each)
			}
		}
	}
	refuse := func() {
		refused := planOf(t, "10.2.0.3:53", "10.2.0.5:53")
		next.Expect(refused)
		next.Refused(refused)
	}
	refuse()
	expect("a Plan is refused before any serves", server, "10.2.0.3")
	next.Expect(older)
	next.Assume(older)
	expect("an older Plan stands for the one that serves", server, "10.2.0.3", "10.2.0.4")
	refuse()
	expect("a Plan is refused after that", server, "10.2.0.3", "10.2.0.4")
	next.Hold(planOf(t, "10.2.0.3:53"))
	expect("the controller's Plan serves", "10.2.0.3")
	if said.Len() != 0 {
		t.Error(said)
	}
}

func TestServersThatCannotAnswerThroughTheEngineAreRefused(t *testing.T) {
	standAlone(t)
	s, _ := newSet("engine", false)
	for _, local := range []string{"10.2.0.1:53", "127.0.0.1:53", "[::1]:53", "[fd00:3::1]:53"} {
		findings := s.Expect(planOf(t, local, server+":53"))
		if len(findings) != 1 || !strings.Contains(findings[0].Message, "server "+local+" is on this engine") ||
			findings[0].Object.Name != "dns" || findings[0].Field != "pool_ref" {
			t.Errorf("%s: %v", local, findings)
		}
	}
	var many []string
	for n := range answerersMax + 1 {
		many = append(many, netip.AddrPortFrom(netip.MustParseAddr(server), uint16(1000+n)).String())
	}
	if findings := s.Expect(planOf(t, many...)); len(findings) != 1 ||
		!strings.Contains(findings[0].Message, "have 513 servers in all, and an engine takes 512") {
		t.Error(findings)
	}
	if left := rules(t); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
}

func TestAgentWithoutTheCapabilitySaysSo(t *testing.T) {
	standAlone(t)
	drop(t)
	s, _ := newSet("engine", false)
	findings := s.Expect(planOf(t, server+":53", "10.2.0.3:53"))
	const reason = "operation not permitted; give the agent CAP_NET_ADMIN"
	if len(findings) != 1 || !strings.Contains(findings[0].Message, reason) ||
		findings[0].Object.Name != "dns" ||
		findings[0].Field != "network_profile_ref" {
		t.Error(findings)
	}
}

func TestAgentWithoutTheCapabilitySaysNothingOfPlansThatNeedNone(t *testing.T) {
	standAlone(t)
	drop(t)
	s, said := newSet("engine", false)
	s.Hold(planOf(t))
	refused := planOf(t, server+":53")
	s.Expect(refused)
	s.Refused(refused)
	s.Close()
	if said.Len() != 0 {
		t.Error(said)
	}
}

// drop takes all capabilities from this thread, which ends with the test.
func drop(t *testing.T) {
	t.Helper()
	var none [2]unix.CapUserData
	must(t, unix.Capset(&capHeader, &none[0]))
}

// lower takes all capabilities from this thread until raise.
func lower(t *testing.T) (raise func()) {
	t.Helper()
	var all [2]unix.CapUserData
	must(t, unix.Capget(&capHeader, &all[0]))
	none := all
	none[0].Effective, none[1].Effective = 0, 0
	must(t, unix.Capset(&capHeader, &none[0]))
	return func() { must(t, unix.Capset(&capHeader, &all[0])) }
}

var capHeader = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
