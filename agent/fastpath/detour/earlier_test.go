package detour

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNextAgentReplacesWhatTheLastOneLeft(t *testing.T) {
	uplink := standAlone(t)
	plan := planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}})
	first, _ := newSet(t, true)
	first.Hold(plan)
	first.Close()
	left := programs(t, uplink)
	if len(left) != 1 {
		t.Fatalf("%d programs are left", len(left))
	}
	next, said := newSet(t, true)
	next.Hold(plan)
	if found := programs(t, uplink); len(found) != 1 || found[0] == left[0] {
		t.Errorf("programs %v after %v: %s", found, left, said)
	}
	next.Close()
	alone, said := newSet(t, false)
	alone.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress}}))
	if found := programs(t, uplink); len(found) != 0 || said.Len() != 0 {
		t.Errorf("programs %v for an engine alone: %s", found, said)
	}
}

func TestWhatAnEarlierAgentKnewStaysUntilItIsKnownWhatServes(t *testing.T) {
	standAlone(t)
	died, _ := newSet(t, true)
	died.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}, [2][]string{{"fd03::3"}, {"10.1.0.12"}}))
	died.Close()
	older := planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.13"}})
	next, said := newSet(t, true)
	both := map[string][]string{"3.3.3.3": {"10.1.0.12", "10.1.0.13"}, "fd03::3": {"10.1.0.12"}}
	next.Expect(older)
	expectFed(t, next, both)
	next.Assume(older)
	expectFed(t, next, both)
	if got := next.MaxSegment(netip.MustParseAddr("fd03::3")); got != 1500-32-60 {
		t.Errorf("segments of %d", got)
	}
	refused := planOf()
	next.Expect(refused)
	next.Refused(refused)
	expectFed(t, next, both)
	next.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.14"}}))
	expectFed(t, next, map[string][]string{"3.3.3.3": {"10.1.0.14"}})
	if next.Close(); said.Len() != 0 {
		t.Error(said)
	}
}

func TestAgentThatMayNotReadWhatTheEarlierOneKnewSaysSoIfThatMatters(t *testing.T) {
	standAlone(t)
	plan := planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}})
	died, _ := newSet(t, true)
	died.Hold(plan)
	died.Close()
	dropSysAdmin(t)
	known, said := newSet(t, true)
	known.Expect(plan)
	known.Hold(plan)
	if known.Close(); said.Len() != 0 {
		t.Errorf("the plan on disk serves: %s", said)
	}
	unknown, said := newSet(t, true)
	unknown.Expect(plan)
	unknown.Assume(plan)
	expectFed(t, unknown, map[string][]string{"3.3.3.3": {"10.1.0.12"}})
	if unknown.Close(); strings.Count(said.String(), "needs CAP_SYS_ADMIN") != 1 {
		t.Errorf("said %q", said)
	}
}

func TestAProgramThatAnAgentMayNotReadStaysUntilAPlanServesOrTheAgentEnds(t *testing.T) {
	uplink := standAlone(t)
	dropSysAdmin(t)
	for name, c := range map[string]struct {
		keep  bool
		end   func(*Set)
		stays bool
	}{
		"a Plan serves":                   {true, func(s *Set) { s.Hold(planOf()) }, false},
		"the agent ends":                  {false, (*Set).Close, false},
		"the agent makes way for another": {true, (*Set).Close, true},
	} {
		died, _ := newSet(t, true)
		died.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
		died.Close()
		left := programs(t, uplink)
		next, _ := newSet(t, c.keep)
		older := planOf()
		next.Expect(older)
		next.Assume(older)
		if found := programs(t, uplink); len(left) != 1 || !slices.Equal(found, left) {
			t.Errorf("before %s: programs %v, were %v", name, found, left)
		}
		c.end(next)
		if found := programs(t, uplink); len(found) > 0 != c.stays {
			t.Errorf("after %s: programs %v, were %v", name, found, left)
		}
	}
}

// dropSysAdmin takes this capability from the thread, which ends with the test.
func dropSysAdmin(t *testing.T) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	must(t, unix.Capget(&header, &has[0]))
	has[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
	must(t, unix.Capset(&header, &has[0]))
}

func TestAPlanThatStandsForANewerOneRemovesNoProgram(t *testing.T) {
	uplink := standAlone(t)
	died, _ := newSet(t, true)
	died.Hold(planOf([2][]string{{"3.3.3.3"}, {ownAddress, "10.1.0.12"}}))
	died.Close()
	next, said := newSet(t, false)
	next.Assume(planOf())
	if found := programs(t, uplink); len(found) != 1 || said.Len() != 0 {
		t.Fatalf("%d programs: %s", len(found), said)
	}
	expectFed(t, next, map[string][]string{"3.3.3.3": {"10.1.0.12"}})
	next.Close()
}
