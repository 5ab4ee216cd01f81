package monitor

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// monitors have the content that their uuid says.
func monitors(uuids ...string) (all []*plan.Monitor) {
	for _, uuid := range uuids {
		all = append(all, &plan.Monitor{UUID: uuid, Content: sha256.Sum256([]byte(uuid)), Interval: 10 * time.Second,
			Successes: 2, Failures: 2, Quickstart: true})
	}
	return all
}

// pools are one pool, with servers that are so monitored. The address of a server follows from its name.
func pools(uuid string, monitors []*plan.Monitor, servers ...string) []*plan.Pool {
	pool := &plan.Pool{UUID: uuid, Monitors: monitors}
	for _, id := range servers {
		digest := sha256.Sum256([]byte(id))
		pool.Servers = append(pool.Servers, plan.Server{ID: id, Address: netip.AddrFrom16([16]byte(digest[:16])),
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
		check := l.begin(l.now)
		l.note(check, outcome(check.subjects[0].key.Server, check.target.Monitor.UUID), l.now)
		news = append(news, l.told()...)
	}
}

// told are the news: "server up reason".
func (l *lab) told() (news []string) {
	for _, verdict := range l.takeNews() {
		news = append(news, fmt.Sprintf("%s %v %s", verdict.Server, verdict.Up, verdict.Reason))
	}
	return news
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
		changed[0].Interval, changed[0].Content = interval, sha256.Sum256([]byte(interval.String()))
		return pools("p", changed, "one")
	}
	l.reconcile(every(time.Hour), l.now)
	l.run(time.Minute, passes)
	l.reconcile(every(time.Second), l.now)
	if news := l.run(3*time.Second, fails("no answer")); !slices.Equal(news, []string{"one false no answer"}) {
		t.Errorf("got %q", news)
	}
	l.reconcile(every(time.Hour), l.now)
	l.now, _ = l.next()
	running := l.begin(l.now)
	l.reconcile(every(time.Second), l.now)
	l.note(running, Outcome{}, l.now)
	if due, _ := l.next(); due.Sub(l.now) > time.Second || len(l.agenda) != 1 {
		t.Errorf("comes %v after the one that ran, agenda of %d", due.Sub(l.now), len(l.agenda))
	}
}

func TestCheckThatReplacesAnotherOneOfItsMonitorBeginsWhereThatStood(t *testing.T) {
	l := newLab()
	l.reconcile(pools("p", monitors("m"), "one"), l.now)
	l.run(time.Second, passes)
	changed := monitors("m")
	changed[0].Content = sha256.Sum256([]byte("another question"))
	l.reconcile(pools("p", changed, "one"), l.now)
	if report := l.reports()[0]; !report.Up || !report.Monitors[0].Up {
		t.Errorf("got %+v", report)
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
	all := map[plan.Member]plan.State{member("one"): {Up: true}, member("two"): {Up: true}}
	if got := l.states(nil); !maps.Equal(got, all) {
		t.Errorf("got %v", got)
	}
	asked := map[plan.Member]bool{member("two"): true, member("unchecked"): true, member("elsewhere"): true}
	if got := l.states(asked); !maps.Equal(got, map[plan.Member]plan.State{member("two"): {Up: true}}) {
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
	running := l.begin(l.now)
	l.reconcile(nil, l.now)
	l.note(running, Outcome{Up: true}, l.now)
	if news := l.told(); len(news) != 0 || len(l.agenda)+len(l.checks) != 0 {
		t.Errorf("got %v, agenda of %d, %d checks", news, len(l.agenda), len(l.checks))
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
	if check := l.begin(l.now.Add(time.Second)); check.target.Port != 8080 {
		t.Errorf("got %+v", check.target)
	}
}

// monitoredTwice are two pools with the same server.
func monitoredTwice(first, second []*plan.Monitor) []*plan.Pool {
	return append(pools("p", first, "one"), pools("q", second, "one")...)
}

func TestPoolsShareTheChecksOfAServer(t *testing.T) {
	l := newLab()
	again := monitors("m")
	again[0].UUID = "another object with the same content"
	l.reconcile(monitoredTwice(monitors("m"), again), l.now)
	made := 0
	news := l.run(35*time.Second, func(string, string) Outcome { made++; return Outcome{Reason: "refused"} })
	if want := []string{"one false refused", "one false refused"}; !slices.Equal(news, want) || made > 5 {
		t.Errorf("got %q by %d checks", news, made)
	}
	if reports := l.reports(); reports[0].Monitors[0].UUID != "m" || reports[1].Monitors[0].UUID != again[0].UUID {
		t.Errorf("got %+v", reports)
	}
	l.reconcile(pools("q", again, "one"), l.now)
	if news := l.run(time.Minute, passes); !slices.Equal(news, []string{"one true "}) {
		t.Errorf("after the other pool is gone: %q", news)
	}
}

func TestPoolsShareTheChecksThatNameNoHostWhateverPortTheirHostsHave(t *testing.T) {
	l := newLab()
	both := monitoredTwice(monitors("m"), monitors("m"))
	for _, pool := range both {
		pool.Monitors[0].Type = plan.TCP
	}
	both[1].AppendPort = plan.AppendNever
	if l.reconcile(both, l.now); len(l.checks) != 1 {
		t.Errorf("%d checks", len(l.checks))
	}
}

func TestPoolThatComesLaterKnowsAtOnceWhatIsKnownOfItsServer(t *testing.T) {
	l := newLab()
	first := pools("p", monitors("m"), "one")
	l.reconcile(first, l.now)
	l.run(time.Second, passes)
	l.reconcile(append(first, pools("q", monitors("m"), "one")...), l.now)
	if news := l.told(); !slices.Equal(news, []string{"one true "}) {
		t.Errorf("got %q", news)
	}
}

func TestPoolsDoNotShareWhatDiffers(t *testing.T) {
	for name, change := range map[string]func(pool *plan.Pool){
		"other content":   func(pool *plan.Pool) { pool.Monitors = monitors("other") },
		"another name":    func(pool *plan.Pool) { pool.Servers[0].Hostname = "two.example" },
		"its own port":    func(pool *plan.Pool) { pool.Servers[0].Port = 81 },
		"the name in TLS": func(pool *plan.Pool) { pool.ServerName = "shop.example" },
		"HTTP/2":          func(pool *plan.Pool) { pool.HTTP2 = true },
		"the port of the host": func(pool *plan.Pool) {
			pool.Monitors[0].Type, pool.AppendPort = plan.HTTP, plan.AppendNever
		},
		"the monitor says so": func(pool *plan.Pool) { pool.Monitors[0].Apart = true },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab()
			both := monitoredTwice(monitors("m"), monitors("m"))
			change(both[1])
			l.reconcile(both, l.now)
			if len(l.checks) != 2 {
				t.Errorf("%d checks", len(l.checks))
			}
		})
	}
}

func TestServersAreAskedForNamesThatAreHosts(t *testing.T) {
	for name, want := range map[string]string{
		"web-1.shop_a.example": "web-1.shop_a.example", "10.0.0.1": "10.0.0.1", "2001:db8::1": "2001:db8::1",
		"web server 1": "", "a\r\nX: y": "", "b\u00fccher.example": "", "": "",
	} {
		l := newLab()
		all := pools("p", monitors("m"), "one")
		all[0].Servers[0].Hostname = name
		l.reconcile(all, l.now)
		for key := range l.checks {
			if key.target.Hostname != want {
				t.Errorf("%q: asked for %q", name, key.target.Hostname)
			}
		}
	}
}

func TestServerIsUpWhenAsManyMonitorsPassAsItsPoolWants(t *testing.T) {
	l := newLab()
	two := pools("p", monitors("m1", "m2", "m3"), "one")
	two[0].MinUp = 2
	l.reconcile(two, l.now)
	failing := map[string]bool{"m2": true}
	outcome := func(_, monitor string) Outcome { return Outcome{Up: !failing[monitor], Reason: "not " + monitor} }
	if news := l.run(30*time.Second, outcome); !slices.Equal(news, []string{"one true "}) {
		t.Errorf("with two of three: %q", news)
	}
	failing["m1"] = true
	if news := l.run(30*time.Second, outcome); !slices.Equal(news, []string{"one false not m1"}) {
		t.Errorf("with one of three: %q", news)
	}
	one := pools("p", monitors("m1", "m2", "m3"), "one")
	one[0].MinUp = 1
	l.reconcile(one, l.now)
	if news := l.told(); !slices.Equal(news, []string{"one true "}) {
		t.Errorf("when one is enough: %q", news)
	}
	news := l.run(30*time.Second, func(_, monitor string) Outcome {
		return Outcome{Up: monitor != "m2", Maintenance: monitor == "m2", Reason: "in maintenance"}
	})
	if !slices.Equal(news, []string{"one false in maintenance"}) {
		t.Errorf("in maintenance: %q", news)
	}
}

func TestNoMoreChecksBeginInASecondThanTheyMay(t *testing.T) {
	l := newLab()
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	l.random = func() float64 { return 0 }
	l.reconcile(pools("p", monitors("m"), names...), l.now)
	began := 0
	for end := l.now.Add(time.Second); l.now.Before(end); l.now, _ = l.next() {
		for l.begin(l.now) != nil {
			began++
		}
	}
	if most := int((time.Second + ahead) / pace); began < most-5 || began > most+5 {
		t.Errorf("%d began", began)
	}
}

func TestNoMoreScriptsRunAtOnceThanTheyMayAndDelayNoOthers(t *testing.T) {
	l := newLab()
	script := monitors("script")
	script[0].Type = plan.External
	names := make([]string, scriptsMax+2)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	l.reconcile(append(pools("p", script, names...), pools("q", monitors("m"), "other")...), l.now)
	l.now = l.now.Add(5 * time.Second)
	var running []*check
	others := 0
	for check := l.begin(l.now); check != nil; check = l.begin(l.now) {
		if check.isScript() {
			running = append(running, check)
		} else {
			others++
		}
		l.now = l.now.Add(time.Millisecond)
	}
	if len(running) != scriptsMax || others != 1 {
		t.Errorf("%d scripts and %d others run", len(running), others)
	}
	l.note(running[0], Outcome{Up: true}, l.now)
	if due, any := l.next(); !any || due.After(l.now) {
		t.Errorf("the next script is due at %v, %v", due, any)
	}
	if check := l.begin(l.now); check == nil || !check.isScript() || check == running[0] {
		t.Errorf("next is %+v", check)
	}
	if check := l.begin(l.now.Add(time.Second)); check != nil {
		t.Errorf("too many: %+v", check)
	}
}
