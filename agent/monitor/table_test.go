package monitor

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

func monitors(uuids ...string) (all []*plan.Monitor) {
	for _, uuid := range uuids {
		all = append(all, &plan.Monitor{UUID: uuid, Interval: 10 * time.Second, Successes: 2, Failures: 2,
			Quickstart: true})
	}
	return all
}

// pools are one pool, with servers that are so monitored.
func pools(uuid string, monitors []*plan.Monitor, servers ...string) []*plan.Pool {
	pool := &plan.Pool{UUID: uuid, Monitors: monitors}
	for _, id := range servers {
		pool.Servers = append(pool.Servers, plan.Server{ID: id, Address: netip.MustParseAddr("192.0.2.1"),
			Port: 80, Enabled: true})
	}
	return []*plan.Pool{pool}
}

// lab is a table with a clock of its own; there is no jitter unless a test sets random.
type lab struct {
	*table
	now time.Time
}

func newLab() *lab {
	return &lab{newTable(func() float64 { return 0.5 }), time.Unix(1_000_000, 0)}
}

// run makes every check that is due within span, in order, and returns the news.
func (l *lab) run(span time.Duration, outcome func(server, monitor string) Outcome) (news []string) {
	for end := l.now.Add(span); ; {
		due, any := l.next()
		if !any || due.After(end) {
			l.now = end
			return news
		}
		l.now = due
		check, _ := l.begin(l.now)
		result := outcome(check.subject.key.Server, check.monitor.UUID)
		if verdict := l.note(check, result, l.now); verdict != nil {
			news = append(news, fmt.Sprintf("%s %v %s", verdict.Server, verdict.Up, verdict.Reason))
		}
	}
}

func passes(string, string) Outcome { return Outcome{Up: true} }

func fails(reason string) func(string, string) Outcome {
	return func(string, string) Outcome { return Outcome{Reason: reason} }
}

func TestNewServersAreUpAfterTheFirstRoundOfChecks(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one", "two"), l.now)
	if news := l.run(20*time.Millisecond, passes); !slices.Equal(news, []string{"one true ", "two true "}) {
		t.Errorf("got %q", news)
	}
	if news := l.run(time.Minute, passes); len(news) != 0 {
		t.Errorf("news without news: %q", news)
	}
}

func TestTellsWhyAServerIsDownAndWhenTheReasonChanges(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one"), l.now)
	l.run(time.Second, passes)
	news := l.run(30*time.Second, fails("connection refused"))
	news = append(news, l.run(10*time.Second, fails("no answer"))...)
	news = append(news, l.run(30*time.Second, passes)...)
	if want := []string{"one false connection refused", "one false no answer", "one true "}; !slices.Equal(news, want) {
		t.Errorf("got %q, want %q", news, want)
	}
}

func TestMonitorThatShallCheckMoreOftenDoesSoAtOnce(t *testing.T) {
	l := newLab()
	every := func(interval time.Duration) []*plan.Pool {
		changed := monitors("m")
		changed[0].Interval = interval
		return pools("p", changed, "one")
	}
	l.reconcile(every(time.Hour), l.now)
	l.run(time.Minute, passes)
	l.reconcile(every(time.Second), l.now)
	if news := l.run(3*time.Second, fails("no answer")); !slices.Equal(news, []string{"one false no answer"}) {
		t.Errorf("got %q", news)
	}
	l.reconcile(every(time.Hour), l.now)
	running, _ := l.next()
	l.now = running
	check, _ := l.begin(l.now)
	l.reconcile(every(time.Second), l.now)
	if _, planned := l.next(); planned {
		t.Error("a check that runs is planned a second time")
	}
	l.note(check, Outcome{}, l.now)
	if due, _ := l.next(); due.Sub(l.now) > time.Second {
		t.Errorf("comes %v after the one that ran", due.Sub(l.now))
	}
}

func TestServerIsDownForTheMonitorThatFails(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m1", "m2"), "one"), l.now)
	news := l.run(time.Minute, func(_, monitor string) Outcome {
		return Outcome{Up: monitor == "m1", Reason: "not " + monitor}
	})
	if !slices.Equal(news, []string{"one false not m2"}) {
		t.Errorf("got %q", news)
	}
	report := l.reports()[0]
	if m := report.Monitors; !m[0].Up || m[1].Up || m[1].Reason != "not m2" {
		t.Errorf("got %v", report)
	}
}

func TestChangeOfPlanKeepsTheStateOfWhatStays(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "stays", "goes"), l.now)
	l.run(time.Second, passes)
	before, _ := l.next()
	next := append(pools("p", monitors("m"), "stays", "comes"), pools("q", nil, "unmonitored")...)
	next[0].Servers[0].Hostname = "renamed"
	l.reconcile(next, l.now)
	var held []string
	for _, verdict := range l.reports() {
		held = append(held, verdict.Server)
	}
	if !slices.Equal(held, []string{"stays"}) {
		t.Errorf("verdicts held: %q", held)
	}
	if news := l.run(time.Second, passes); !slices.Equal(news, []string{"comes true "}) {
		t.Errorf("got %q", news)
	}
	if after, _ := l.next(); !after.Equal(before) {
		t.Errorf("the check of what stays moved from %v to %v", before, after)
	}
}

func TestChangeOfOnePoolLeavesTheChecksOfTheOthersAlone(t *testing.T) {
	l := newLab()
	one, other := pools("p", monitors("m"), "one")[0], pools("q", monitors("m"), "two")[0]
	l.reconcile([]*plan.Pool{one, other}, l.now)
	l.run(time.Second, passes)
	kept := l.subjects[plan.Member{Pool: "q", Server: "two"}]
	l.reconcile([]*plan.Pool{pools("p", monitors("m"), "three")[0], other}, l.now)
	if l.subjects[plan.Member{Pool: "q", Server: "two"}] != kept || len(l.subjects) != 2 || len(l.agenda) != 2 {
		t.Errorf("%d servers, agenda of %d", len(l.subjects), len(l.agenda))
	}
	l.reconcile([]*plan.Pool{other}, l.now)
	if len(l.subjects) != 1 || len(l.agenda) != 1 {
		t.Errorf("%d servers, agenda of %d", len(l.subjects), len(l.agenda))
	}
}

func TestStatesAreThoseOfTheServersAskedFor(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one", "two"), l.now)
	l.run(time.Second, passes)
	l.reconcile(pools("p", monitors("m"), "one", "two", "unchecked"), l.now)
	member := func(server string) plan.Member { return plan.Member{Pool: "p", Server: server} }
	all := map[plan.Member]bool{member("one"): true, member("two"): true}
	if got := l.states(nil); !maps.Equal(got, all) {
		t.Errorf("got %v", got)
	}
	asked := map[plan.Member]bool{member("two"): true, member("unchecked"): true, member("elsewhere"): true}
	if got := l.states(asked); !maps.Equal(got, map[plan.Member]bool{member("two"): true}) {
		t.Errorf("got %v", got)
	}
}

func TestServerOnAnotherAddressIsAnotherServer(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one"), l.now)
	l.run(time.Second, passes)
	moved := pools("p", monitors("m"), "one")
	moved[0].Servers[0].Address = netip.MustParseAddr("192.0.2.2")
	l.reconcile(moved, l.now)
	if reports := l.reports(); len(reports) != 0 {
		t.Errorf("has the verdict of the server before: %v", reports)
	}
}

func TestNewMonitorDoesNotTakeAServerDownBeforeItHasDecided(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m1"), "one"), l.now)
	l.run(time.Second, passes)
	l.reconcile(pools("p", monitors("m1", "m2"), "one"), l.now)
	if !l.reports()[0].Up {
		t.Error("down because a monitor was added")
	}
	news := l.run(3*time.Second, func(_, monitor string) Outcome {
		return Outcome{Up: monitor == "m1", Reason: monitor}
	})
	if !slices.Equal(news, []string{"one false m2"}) {
		t.Errorf("got %q", news)
	}
}

func TestOutcomeOfACheckThatIsGoneChangesNothing(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one"), l.now)
	l.now = l.now.Add(time.Second)
	running, _ := l.begin(l.now)
	l.reconcile(nil, l.now)
	if verdict := l.note(running, Outcome{Up: true}, l.now); verdict != nil || len(l.agenda) != 0 {
		t.Errorf("got %v, agenda of %d", verdict, len(l.agenda))
	}
}

func TestDisabledServersAreNotChecked(t *testing.T) {
	l := newLab()
	disabled := pools("p", monitors("m"), "one")
	disabled[0].Servers[0].Enabled = false
	l.reconcile(disabled, l.now)
	if _, any := l.next(); any {
		t.Error("a disabled server is checked")
	}
}

func TestChecksComeApartAndStayWithinTheirInterval(t *testing.T) {
	l := newLab()
	seed := 0.0
	l.random = func() float64 { seed += 0.618; return seed - float64(int(seed)) }
	names := strings.Fields(strings.Repeat("s ", 200))
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	l.reconcile(pools("p", monitors("m"), names...), l.now)
	last, seen := map[string]time.Time{}, map[time.Duration]int{}
	l.run(2*time.Minute, func(server, _ string) Outcome {
		if before, any := last[server]; any {
			if gap := l.now.Sub(before); gap < 9*time.Second || gap > 11*time.Second {
				t.Fatalf("server %s checked after %v", server, gap)
			}
		}
		last[server] = l.now
		seen[l.now.Sub(time.Unix(1_000_000, 0)).Truncate(100*time.Millisecond)]++
		return Outcome{Up: true}
	})
	if len(last) != 200 {
		t.Errorf("%d servers checked", len(last))
	}
	for at, count := range seen {
		if at > 2*time.Second && count > 30 {
			t.Errorf("%d checks of 200 within 100 ms at %v", count, at)
		}
	}
}

func TestNewServerThatFailsIsCheckedAgainSoonUnderQuickstart(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one"), l.now)
	if news := l.run(3*time.Second, fails("refused")); !slices.Equal(news, []string{"one false refused"}) {
		t.Errorf("got %q", news)
	}
}

func TestMonitorPortStandsInForTheServersPort(t *testing.T) {
	l := newLab()
	elsewhere := pools("p", monitors("m"), "one")
	elsewhere[0].Monitors[0].Port = 8080
	l.reconcile(elsewhere, l.now)
	if _, target := l.begin(l.now.Add(time.Second)); target.at().String() != "192.0.2.1:8080" {
		t.Errorf("got %+v", target)
	}
}
