package detour

import (
	"bytes"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/fastpath/detour"
	"github.com/weir-lb/weir/tests/alone"
)

const ownAddress = "10.1.0.11"

// newSet is a fast path of the engine at the own address.
func newSet(t *testing.T, keep bool) (s *Set, said *bytes.Buffer) {
	t.Helper()
	return newSetAt(keep, ownAddress)
}

func newSetAt(keep bool, own ...string) (s *Set, said *bytes.Buffer) {
	said = new(bytes.Buffer)
	return New(Config{
		Addresses: func(of *plan.Plan) []netip.Addr {
			if of == nil {
				return nil
			}
			return addresses(own...)
		},
		Keep: keep, Log: slog.New(slog.NewTextHandler(said, nil)),
	}), said
}

// standAlone gives the test a network namespace whose uplink has the own address. Needs root.
func standAlone(t *testing.T) (uplink netlink.Link) {
	t.Helper()
	alone.Stand(t)
	return addUplink(t, "uplink", ownAddress)
}

func addUplink(t *testing.T, name, address string) (uplink netlink.Link) {
	t.Helper()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = name, 1500
	uplink = &netlink.Veth{LinkAttrs: attributes, PeerName: name + "-peer"}
	must(t, netlink.LinkAdd(uplink))
	must(t, netlink.AddrAdd(uplink, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address).To4(),
		Mask: net.CIDRMask(24, 32)}}))
	must(t, netlink.LinkSetUp(uplink))
	return uplink
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// programs are those at the ingress of a link.
func programs(t *testing.T, link netlink.Link) (ids []int) {
	t.Helper()
	filters, err := netlink.FilterList(link, netlink.HANDLE_MIN_INGRESS)
	must(t, err)
	for _, filter := range filters {
		ids = append(ids, filter.(*netlink.BpfFilter).Id)
	}
	return ids
}

func TestNothingIsLoadedForAnEngineAlone(t *testing.T) {
	uplink := standAlone(t)
	s, said := newSet(t, false)
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress}}))
	if found := programs(t, uplink); len(found) != 0 || s.Detours() != nil || said.Len() != 0 {
		t.Errorf("%d programs, %v, %s", len(found), s.Detours(), said)
	}
	if got := s.MaxSegment(netip.MustParseAddr("3.3.3.3")); got != 1500-32-40 {
		t.Errorf("segments of %d: another engine may come any time", got)
	}
}

func TestTellsWhoseSegmentsGetAnotherLimit(t *testing.T) {
	uplink := standAlone(t)
	s, _ := newSet(t, false)
	defer s.Close()
	expect := func(wantAll bool, want ...string) {
		t.Helper()
		all, some := s.ChangedSegments()
		if got := slices.SortedFunc(maps.Keys(some), netip.Addr.Compare); all != wantAll ||
			!slices.Equal(got, addresses(want...)) {
			t.Errorf("all %v, %v, want %v, %v", all, got, wantAll, want)
		}
	}
	one, other := [2][]string{{"3.3.3.3"}, {ownAddress}}, [2][]string{{"3.3.3.4"}, {ownAddress}}
	s.Hold(planOf(one))
	expect(true)
	expect(false)
	s.Hold(planOf(one))
	expect(false)
	refused := planOf(one, other)
	s.Expect(refused)
	expect(false, "3.3.3.4")
	s.Refused(refused)
	expect(false, "3.3.3.4")
	s.Hold(planOf(other))
	expect(false, "3.3.3.3", "3.3.3.4")
	must(t, netlink.LinkSetMTU(uplink, 1400))
	s.Hold(planOf(other))
	expect(true)
	if got := s.MaxSegment(netip.MustParseAddr("3.3.3.4")); got != 1400-32-40 {
		t.Errorf("segments of %d", got)
	}
}

func TestAnUplinkIsReadyBeforeTheEngineHasClients(t *testing.T) {
	uplink := standAlone(t)
	s, said := newSet(t, false)
	s.Expect(planOf())
	before := disciplines(t, uplink)
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	if after := disciplines(t, uplink); !slices.Equal(before, after) || len(programs(t, uplink)) != 1 {
		t.Errorf("%q became %q, which costs packets: %s", before, after, said)
	}
}

// disciplines are the kinds of queues that a link has.
func disciplines(t *testing.T, link netlink.Link) (kinds []string) {
	t.Helper()
	found, err := netlink.QdiscList(link)
	must(t, err)
	for _, discipline := range found {
		kinds = append(kinds, discipline.Type())
	}
	return kinds
}

func TestProgramsKnowTheEnginesOfThePlanThatServesAndOfTheOneThatComes(t *testing.T) {
	uplink := standAlone(t)
	s, said := newSet(t, false)
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	if found := programs(t, uplink); len(found) != 1 {
		t.Fatalf("%d programs: %s", len(found), said)
	}
	next := planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.13"}},
		[2][]string{{"fd03::3"}, {ownAddress, "10.1.0.13"}})
	s.Expect(next)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.12", "10.1.0.13"}, "fd03::3": {"10.1.0.13"}})
	s.Hold(next)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.13"}, "fd03::3": {"10.1.0.13"}})
	var link uint32
	if err := s.objects.Engines.Lookup(packed(netip.MustParseAddr("10.1.0.13")), &link); err != nil ||
		int(link) != uplink.Attrs().Index {
		t.Errorf("interface %d leads to the other, %v", link, err)
	}
	if s.objects.Engines.Lookup(packed(netip.MustParseAddr("10.1.0.12")), &link) == nil {
		t.Error("one that is gone may still send")
	}
	s.Close()
	if found := programs(t, uplink); len(found) != 0 || said.Len() != 0 {
		t.Errorf("%d programs are left: %s", len(found), said)
	}
}

func expectFed(t *testing.T, s *Set, want map[string][]string) {
	t.Helper()
	var vip detour.KernelAddress
	var siblings detour.KernelSiblings
	count := 0
	for all := s.objects.Vips.Iterate(); all.Next(&vip, &siblings); {
		count++
	}
	if count != len(want) {
		t.Errorf("%d addresses, want %d", count, len(want))
	}
	for address, engines := range want {
		must(t, s.objects.Vips.Lookup(packed(netip.MustParseAddr(address)), &siblings))
		if int(siblings.Count) != len(engines) {
			t.Fatalf("%s: %d engines, want %v", address, siblings.Count, engines)
		}
		for i, engine := range engines {
			if siblings.Engine[i] != packed(netip.MustParseAddr(engine)) {
				t.Errorf("%s: engine %d is not %s", address, i, engine)
			}
		}
	}
}

func TestOnlyAnEngineThatComesHasToBecomeKnownToTheOthers(t *testing.T) {
	standAlone(t)
	s, _ := newSet(t, false)
	defer s.Close()
	settled := func(engines ...string) uint64 {
		t.Helper()
		s.Hold(planOf([2][]string{{"3.3.3.3"}, engines}))
		var siblings detour.KernelSiblings
		must(t, s.objects.Vips.Lookup(packed(netip.MustParseAddr("3.3.3.3")), &siblings))
		return siblings.SettledNs
	}
	now, err := monotonicNs(0)
	must(t, err)
	first := settled(ownAddress, "10.1.0.12", "10.1.0.13")
	if first <= now {
		t.Errorf("settled at %d already, now is %d", first, now)
	}
	if left := settled(ownAddress, "10.1.0.12"); left != first {
		t.Errorf("one has left: settled at %d, and not at %d", left, first)
	}
	if came := settled(ownAddress, "10.1.0.12", "10.1.0.14"); came <= first {
		t.Errorf("one has come: settled at %d, as before at %d", came, first)
	}
}

func TestNothingComesAfterTheEnd(t *testing.T) {
	uplink := standAlone(t)
	plan := planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}})
	s, said := newSet(t, false)
	s.Hold(plan)
	s.Close()
	s.Expect(plan)
	s.Attend()
	if found := programs(t, uplink); len(found) != 0 || said.Len() != 0 {
		t.Errorf("programs %v: %s", found, said)
	}
}

func TestEachUplinkHasTheProgramsAndOneThatComesBackGetsThemAgain(t *testing.T) {
	first := standAlone(t)
	second := addUplink(t, "second", "10.2.0.11")
	s, said := newSetAt(false, ownAddress, "10.2.0.11")
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	if a, b := programs(t, first), programs(t, second); len(a) != 1 || len(b) != 1 {
		t.Fatalf("%d and %d programs: %s", len(a), len(b), said)
	}
	must(t, netlink.LinkDel(second))
	s.Attend()
	if !strings.Contains(said.String(), "no interface has the address 10.2.0.11") {
		t.Errorf("said %q", said)
	}
	second = addUplink(t, "second", "10.2.0.11")
	s.Attend()
	if found := programs(t, second); len(found) != 1 {
		t.Errorf("%d programs on the one that came back: %s", len(found), said)
	}
	s.Close()
}

func TestWhatFailsIsSaidOnce(t *testing.T) {
	standAlone(t)
	for address, want := range map[string]string{"10.1.0.99": "no interface has the address 10.1.0.99",
		"127.0.0.1": "127.0.0.1 is an address of loopback"} {
		s, said := newSetAt(false, address)
		for range 2 {
			s.Hold(planOf([2][]string{{"3.3.3.3"}, {address, "10.1.0.12"}}))
			s.Attend()
		}
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("said %q", said)
		}
		s.Close()
	}
}

// newSetWithTwoComing has a Plan that serves with the engine 10.1.0.12, and two that come with 10.1.0.13 and 10.1.0.14.
func newSetWithTwoComing(t *testing.T) (s *Set, first, second *plan.Plan) {
	t.Helper()
	s, _ = newSet(t, false)
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	first = planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.13"}})
	second = planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.14"}})
	s.Expect(first)
	s.Expect(second)
	return s, first, second
}

func TestRefusedPlanLeavesWhatServes(t *testing.T) {
	standAlone(t)
	s, first, second := newSetWithTwoComing(t)
	s.Refused(first)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.12", "10.1.0.14"}}) // the second may still serve
	s.Refused(second)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.12"}})
	s.Close()
}

func TestProgramsKnowTheEnginesOfAllPlansThatMayServeNext(t *testing.T) {
	standAlone(t)
	s, first, second := newSetWithTwoComing(t)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.12", "10.1.0.13", "10.1.0.14"}})
	s.Hold(first)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.13", "10.1.0.14"}})
	s.Hold(second)
	expectFed(t, s, map[string][]string{"3.3.3.3": {"10.1.0.14"}})
	s.Close()
}

func TestNobodyWaitsForProgramsThatAreLoaded(t *testing.T) {
	standAlone(t)
	s, said := newSet(t, false)
	loading, release := make(chan struct{}), make(chan struct{})
	found := s.loader.AnswerNumberAt
	s.loader.AnswerNumberAt = sync.OnceValues(func() (uint32, error) {
		close(loading)
		<-release
		return found()
	})
	go func() {
		defer close(release)
		<-loading
		for name, ask := range map[string]func(){
			"Beat": s.Beat, "Detours": func() {
				s.Detours()
			}, "MaxSegment": func() { s.MaxSegment(netip.MustParseAddr("3.3.3.3")) },
		} {
			done := make(chan struct{})
			go func() { ask(); close(done) }()
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				t.Errorf("%s waits", name)
			}
		}
	}()
	s.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	s.Beat()
	if s.Detours() == nil || s.lifeless != nil || said.Len() != 0 {
		t.Errorf("after that: %v, %v, %s", s.Detours(), s.lifeless, said)
	}
	s.Close()
}
