package monitor

import (
	"cmp"
	"container/heap"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	// quickstartInterval is the interval of checks until a new server has its first verdict.
	quickstartInterval = time.Second
	// spread is the time between the first checks of servers that came with the same Plan.
	spread = 5 * time.Millisecond
	// jitter is the part of the interval by which a check may move, so that checks do not stay in step.
	jitter = 0.1
	// pace is the shortest time between the beginnings of two checks, in the mean: 2,000 checks begin in a second.
	// Later ones wait.
	pace = 500 * time.Microsecond
	// ahead is how far checks may be ahead of that pace, in time: a timer is not that fine.
	ahead = 20 * time.Millisecond
	// scriptsMax limits the scripts that run at the same time. Other due scripts wait in order.
	scriptsMax = 64
)

// Target is what one check is made against.
type Target struct {
	Address    netip.Addr
	Port       uint16
	Hostname   string // empty: none
	ServerName string // what its pool calls it in TLS; empty: its Hostname
	HTTP2      bool   // its pool speaks HTTP/2 to it
	AppendPort plan.AppendPort
	Monitor    *plan.Monitor
}

func (t *Target) at() netip.AddrPort { return netip.AddrPortFrom(t.Address, t.Port) }

// subject is a server of a pool that is monitored.
type subject struct {
	key         plan.Member
	server      plan.Server
	needed      int     // how many of its monitors have to pass
	watches     []watch // one for each monitor of the pool, in order
	verdict     verdict
	sinceUnixMs uint64
	told        string // the reason that was reported last
	tasks       plan.Tasks
	heard       time.Time // when the check began that said so
	noted       string    // the problem with them that was reported last

	tasksInterval time.Duration // how often the data plane hears of tasks at most; 0: never
}

// watch is one monitor of a subject, and the check that finds out for it.
type watch struct {
	monitor *plan.Monitor
	check   *check
}

// check is what one monitor content finds about one server, for all pools that have both.
type check struct {
	key      checkKey
	target   Target
	subjects []*subject // that go by it; none: the check is gone. One with two monitors of this content is here twice
	tally    tally
	started  time.Time
	due      time.Time
	place    int // in the agenda; -1: not in it, because it runs, waits for others to end, or is gone
}

// checkKey is what makes two checks the same.
type checkKey struct {
	target  Target // without its Monitor
	content plan.Content
	pool    string // of a monitor whose checks pools do not share
}

// table knows every check and when it is due. It makes all decisions about monitoring and does no I/O. Times are
// monotonic and come from the caller. It has no more checks than the Plan names.
type table struct {
	pools    map[string]*plan.Pool // by uuid
	subjects map[plan.Member]*subject
	checks   map[checkKey]*check
	agenda   agenda
	paced    time.Time      // when the next check would begin at the pace
	scripts  int            // that run
	waiting  []*check       // scripts that were due while too many ran
	news     []Verdict      // that nobody has taken yet
	heard    []plan.Member  // whose tasks nobody has taken yet
	random   func() float64 // [0, 1)
}

func newTable(random func() float64) *table {
	return &table{subjects: map[plan.Member]*subject{}, checks: map[checkKey]*check{}, random: random}
}

// reconcile takes the pools of a Plan. Unchanged checks keep their verdict, counts and schedule. A check that replaces
// another one of the same monitor begins with the verdict of that, and runs no later. A pool that is the same as before
// costs nothing.
func (t *table) reconcile(pools []*plan.Pool, now time.Time) {
	before := t.pools
	t.pools = make(map[string]*plan.Pool, len(pools))
	var soon []*check
	for _, pool := range pools {
		t.pools[pool.UUID] = pool
		if was := before[pool.UUID]; was != pool {
			soon = append(soon, t.reconcilePool(pool, t.remove(was), now)...)
		}
	}
	for uuid, gone := range before {
		if t.pools[uuid] == nil {
			t.dropSubjects(t.remove(gone))
		}
	}
	soon = slices.DeleteFunc(soon, func(c *check) bool { return len(c.subjects) == 0 })
	for _, check := range soon {
		within := min(time.Duration(len(soon))*spread, check.target.Monitor.Interval)
		t.plan(check, now.Add(time.Duration(t.random()*float64(within))))
	}
}

// remove takes the subjects of a pool out of the table; nil: there is no pool.
func (t *table) remove(pool *plan.Pool) map[plan.Member]*subject {
	removed := map[plan.Member]*subject{}
	if pool == nil {
		return removed
	}
	for _, server := range pool.Servers {
		key := plan.Member{Pool: pool.UUID, Server: server.ID}
		if subject := t.subjects[key]; subject != nil {
			removed[key] = subject
			delete(t.subjects, key)
		}
	}
	return removed
}

// reconcilePool adds the subjects of a pool. Those that the pool had before keep their verdict. It returns the checks
// that have to be scheduled.
func (t *table) reconcilePool(pool *plan.Pool, before map[plan.Member]*subject, now time.Time) (soon []*check) {
	for _, server := range pool.Servers {
		if len(pool.Monitors) == 0 || !server.Enabled {
			continue
		}
		key := plan.Member{Pool: pool.UUID, Server: server.ID}
		kept := before[key]
		if kept == nil || kept.server.Address != server.Address || kept.server.Port != server.Port {
			kept = &subject{key: key}
		} else {
			delete(before, key)
		}
		kept.server, kept.needed, kept.tasksInterval = server, len(pool.Monitors), pool.TasksInterval
		if pool.MinUp > 0 {
			kept.needed = min(pool.MinUp, kept.needed)
		}
		soon = append(soon, t.assign(kept, pool)...)
		t.subjects[key] = kept
		t.judge(kept, now)
	}
	t.dropSubjects(before)
	return soon
}

func (t *table) dropSubjects(gone map[plan.Member]*subject) {
	for _, subject := range gone {
		t.leave(subject, subject.watches)
	}
}

// namesHost tells whether the checks of a monitor have a host. Pools that differ in it alone share the others.
func namesHost(monitor *plan.Monitor) bool {
	return monitor.Type == plan.HTTP || monitor.Type == plan.HTTPS || monitor.Type == plan.GRPC
}

// hostIn is the name of a server, if servers can be asked for it; else it is empty. Others are what people call a
// machine, such as "web server 1", and stay out of heads and of TLS.
func hostIn(name string) string {
	isOther := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune(".-_:", r))
	}
	if strings.ContainsFunc(name, isOther) {
		return ""
	}
	return name
}

// assign gives a subject the checks of its pool's monitors. It returns those that have to be scheduled.
func (t *table) assign(subject *subject, pool *plan.Pool) (soon []*check) {
	before := subject.watches
	subject.watches = make([]watch, 0, len(pool.Monitors))
	for _, monitor := range pool.Monitors {
		target := Target{
			Address: subject.server.Address, Port: cmp.Or(monitor.Port, subject.server.Port),
			Hostname: hostIn(subject.server.Hostname), ServerName: pool.ServerName, HTTP2: pool.HTTP2,
		}
		if namesHost(monitor) {
			target.AppendPort = pool.AppendPort
		}
		key := checkKey{target: target, content: monitor.Content}
		if monitor.Apart {
			key.pool = pool.UUID
		}
		known := t.checks[key]
		if known == nil {
			target.Monitor = monitor
			known = &check{key: key, target: target, place: -1}
			t.checks[key] = known
			if !t.succeed(known, monitor, before) {
				soon = append(soon, known)
			}
		}
		known.subjects = append(known.subjects, subject)
		subject.watches = append(subject.watches, watch{monitor, known})
	}
	t.leave(subject, before)
	return soon
}

// succeed has a check continue where the one of the same monitor stood that it replaces. It tells whether it has
// scheduled the check.
func (t *table) succeed(next *check, monitor *plan.Monitor, before []watch) bool {
	at := slices.IndexFunc(before, func(w watch) bool { return w.monitor.UUID == monitor.UUID })
	if at < 0 {
		return false
	}
	replaced := before[at].check
	next.tally = replaced.tally
	if replaced.place < 0 || monitor.Interval < replaced.target.Monitor.Interval {
		return false
	}
	t.plan(next, replaced.due)
	return true
}

// leave takes a subject off checks. The outcome of a running check that nobody needs any more is ignored.
func (t *table) leave(subject *subject, watches []watch) {
	for _, watch := range watches {
		check := watch.check
		at := slices.Index(check.subjects, subject)
		if check.subjects = slices.Delete(check.subjects, at, at+1); len(check.subjects) > 0 {
			continue
		}
		delete(t.checks, check.key)
		if check.place >= 0 {
			heap.Remove(&t.agenda, check.place)
		}
	}
}

func (t *table) plan(check *check, due time.Time) {
	check.due = due
	heap.Push(&t.agenda, check)
}

// next is when the next check may begin; false: none is due before another one ends.
func (t *table) next() (time.Time, bool) {
	switch {
	case len(t.waiting) > 0 && t.scripts < scriptsMax:
		return t.paced.Add(-ahead), true
	case len(t.agenda) == 0:
		return time.Time{}, false
	}
	due, paced := t.agenda[0].due, t.paced.Add(-ahead)
	if due.Before(paced) {
		return paced, true
	}
	return due, true
}

// begin returns a check that is due, or nil. The check is not due again before note was called.
func (t *table) begin(now time.Time) *check {
	if t.paced.Add(-ahead).After(now) {
		return nil
	}
	check := t.take(now)
	if check == nil {
		return nil
	}
	if check.started = now; now.After(t.paced) {
		t.paced = now
	}
	t.paced = t.paced.Add(pace)
	if check.isScript() {
		t.scripts++
	}
	return check
}

// take removes the first check that is due and may run.
func (t *table) take(now time.Time) *check {
	for len(t.waiting) > 0 && t.scripts < scriptsMax {
		first := t.waiting[0]
		if t.waiting = slices.Delete(t.waiting, 0, 1); len(first.subjects) > 0 {
			return first
		}
	}
	for len(t.agenda) > 0 && !t.agenda[0].due.After(now) {
		first := heap.Pop(&t.agenda).(*check)
		if !first.isScript() || t.scripts < scriptsMax {
			return first
		}
		t.waiting = append(t.waiting, first)
	}
	return nil
}

func (c *check) isScript() bool { return c.target.Monitor.Type == plan.External }

// note takes the outcome of a check, schedules the next one, and adds to the news what has changed.
func (t *table) note(check *check, outcome Outcome, now time.Time) {
	if check.isScript() {
		t.scripts--
	}
	if len(check.subjects) == 0 {
		return
	}
	check.tally.note(check.target.Monitor, outcome)
	t.plan(check, check.started.Add(t.pause(check)))
	for _, subject := range check.subjects {
		t.judge(subject, now)
		if subject.hear(check) {
			t.heard = append(t.heard, subject.key)
		}
	}
}

// judge adds the verdict about a subject to the news if it has changed.
func (t *table) judge(subject *subject, now time.Time) {
	after := together(subject.verdict, subject.tallies(), subject.needed)
	reason := subject.reason(after)
	problem := subject.tasksProblem()
	if after == unknown || after == subject.verdict && reason == subject.told && problem == subject.noted {
		return
	}
	if after != subject.verdict {
		subject.verdict, subject.sinceUnixMs = after, uint64(now.UnixMilli())
	}
	subject.told, subject.noted = reason, problem
	t.news = append(t.news, subject.report())
}

// takeNews returns the verdicts that have changed since it was called last.
func (t *table) takeNews() []Verdict {
	news := t.news
	t.news = nil
	return news
}

// pause is the time from the beginning of a check to that of the next one.
func (t *table) pause(check *check) time.Duration {
	pause := check.target.Monitor.Interval
	if check.tally.verdict == unknown && check.target.Monitor.Quickstart {
		pause = min(pause, quickstartInterval)
	}
	return time.Duration(float64(pause) * (1 - jitter + 2*jitter*t.random()))
}

// reports are the verdicts of all servers that have one, in a stable order.
func (t *table) reports() []Verdict {
	var all []Verdict
	for _, subject := range t.subjects {
		if subject.verdict != unknown {
			all = append(all, subject.report())
		}
	}
	slices.SortFunc(all, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Server, b.Server))
	})
	return all
}

// states are the verdicts of some servers; nil: of all.
func (t *table) states(of map[plan.Member]bool) map[plan.Member]plan.State {
	states := map[plan.Member]plan.State{}
	if of == nil {
		for key, subject := range t.subjects {
			subject.addTo(states, key)
		}
	}
	for key := range of {
		if subject := t.subjects[key]; subject != nil {
			subject.addTo(states, key)
		}
	}
	return states
}

func (s *subject) addTo(states map[plan.Member]plan.State, key plan.Member) {
	if s.verdict != unknown {
		states[key] = plan.State{Up: s.verdict == up, Tasks: s.tasks}
	}
}

func (s *subject) tallies() []tally {
	all := make([]tally, 0, len(s.watches))
	for _, watch := range s.watches {
		all = append(all, watch.check.tally)
	}
	return all
}

// reason is that of the monitor that makes the server down: the first one that says maintenance, or the first that says
// down.
func (s *subject) reason(now verdict) (reason string) {
	if now != down {
		return ""
	}
	for _, watch := range s.watches {
		tally := &watch.check.tally
		if tally.maintenance {
			return tally.reason
		}
		if tally.verdict == down && reason == "" {
			reason = tally.reason
		}
	}
	return reason
}

func (s *subject) report() Verdict {
	report := Verdict{Member: s.key, Up: s.verdict == up, Reason: s.told, SinceUnixMs: s.sinceUnixMs}
	for _, watch := range s.watches {
		tally := &watch.check.tally
		said := MonitorVerdict{UUID: watch.monitor.UUID, Up: tally.verdict == up,
			Reason: tally.reason, Took: tally.took}
		if said.Reason == "" && watch.check == s.script() {
			said.Reason = s.noted
		}
		report.Monitors = append(report.Monitors, said)
	}
	return report
}
