package monitor

import (
	"cmp"
	"container/heap"
	"net/netip"
	"slices"
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
)

// Target is what one check is made against.
type Target struct {
	Address    netip.Addr
	Port       uint16
	Hostname   string // empty: none
	ServerName string // what its pool calls it in TLS; empty: its Hostname
	Monitor    *plan.Monitor
}

func (t *Target) at() netip.AddrPort { return netip.AddrPortFrom(t.Address, t.Port) }

// subject is a server of a pool that is monitored.
type subject struct {
	key         plan.Member
	server      plan.Server
	serverName  string // in TLS, if its pool has one
	checks      []*check
	verdict     verdict
	sinceUnixMs uint64
	told        string // the reason that was reported last
}

// check is one monitor on one server.
type check struct {
	subject *subject
	monitor *plan.Monitor
	tally   tally
	started time.Time
	due     time.Time
	place   int // in the agenda; -1: not in it, because it runs or is gone
}

// table knows every check and when it is due. It makes all decisions about monitoring and does no I/O. Times are
// monotonic and come from the caller. It has no more checks than the Plan names.
type table struct {
	pools    map[string]*plan.Pool // by uuid
	subjects map[plan.Member]*subject
	agenda   agenda
	random   func() float64 // [0, 1)
}

func newTable(random func() float64) *table {
	return &table{subjects: map[plan.Member]*subject{}, random: random}
}

// reconcile takes the pools of a Plan. Unchanged checks keep their verdict, counts and schedule, unless they have to
// run more often. A pool that is the same as before costs nothing.
func (t *table) reconcile(pools []*plan.Pool, now time.Time) {
	before := t.pools
	t.pools = make(map[string]*plan.Pool, len(pools))
	var soon []*check
	for _, pool := range pools {
		t.pools[pool.UUID] = pool
		if was := before[pool.UUID]; was != pool {
			soon = append(soon, t.reconcilePool(pool, t.remove(was))...)
		}
	}
	for uuid, gone := range before {
		if t.pools[uuid] == nil {
			t.dropSubjects(t.remove(gone))
		}
	}
	for _, check := range soon {
		within := min(time.Duration(len(soon))*spread, check.monitor.Interval)
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

// reconcilePool adds the subjects of a pool. Those that the pool had before keep their checks.
func (t *table) reconcilePool(pool *plan.Pool, before map[plan.Member]*subject) (soon []*check) {
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
		kept.server, kept.serverName = server, pool.ServerName
		soon = append(soon, t.assign(kept, pool.Monitors)...)
		t.subjects[key] = kept
	}
	t.dropSubjects(before)
	return soon
}

func (t *table) dropSubjects(gone map[plan.Member]*subject) {
	for _, subject := range gone {
		t.drop(subject.checks)
	}
}

// assign gives a subject its monitors, and keeps existing checks. New checks, and those with a shorter interval, have
// to be scheduled.
func (t *table) assign(subject *subject, monitors []*plan.Monitor) (soon []*check) {
	before := subject.checks
	subject.checks = nil
	for _, monitor := range monitors {
		same := func(c *check) bool { return c.monitor.UUID == monitor.UUID }
		at := slices.IndexFunc(before, same)
		if at < 0 {
			added := &check{subject: subject, monitor: monitor, place: -1}
			subject.checks, soon = append(subject.checks, added), append(soon, added)
			continue
		}
		kept := before[at]
		if hastened := monitor.Interval < kept.monitor.Interval; hastened && kept.place >= 0 {
			heap.Remove(&t.agenda, kept.place)
			soon = append(soon, kept)
		}
		kept.monitor = monitor
		subject.checks = append(subject.checks, kept)
		before = slices.Delete(slices.Clone(before), at, at+1)
	}
	t.drop(before)
	return soon
}

// drop forgets checks. The outcome of a running one is ignored.
func (t *table) drop(checks []*check) {
	for _, check := range checks {
		check.subject = nil
		if check.place >= 0 {
			heap.Remove(&t.agenda, check.place)
		}
	}
}

func (t *table) plan(check *check, due time.Time) {
	check.due = due
	heap.Push(&t.agenda, check)
}

// next is when the first check is due; false: there is none.
func (t *table) next() (time.Time, bool) {
	if len(t.agenda) == 0 {
		return time.Time{}, false
	}
	return t.agenda[0].due, true
}

// begin returns a due check and its target, or nil. The check is not due again before note was called.
func (t *table) begin(now time.Time) (*check, Target) {
	if len(t.agenda) == 0 || t.agenda[0].due.After(now) {
		return nil, Target{}
	}
	check := heap.Pop(&t.agenda).(*check)
	check.started = now
	server := check.subject.server
	return check, Target{
		Address: server.Address, Port: cmp.Or(check.monitor.Port, server.Port), Hostname: server.Hostname,
		ServerName: check.subject.serverName, Monitor: check.monitor,
	}
}

// note records the outcome of a check and schedules the next one. It returns the server's verdict if it has changed.
func (t *table) note(check *check, outcome Outcome, now time.Time) *Verdict {
	subject := check.subject
	if subject == nil {
		return nil
	}
	check.tally.note(check.monitor, outcome)
	t.plan(check, check.started.Add(t.pace(check)))
	after := together(subject.verdict, subject.tallies())
	reason := subject.reason(after)
	if after == unknown || after == subject.verdict && reason == subject.told {
		return nil
	}
	if after != subject.verdict {
		subject.verdict, subject.sinceUnixMs = after, uint64(now.UnixMilli())
	}
	subject.told = reason
	news := subject.report()
	return &news
}

func (t *table) pace(check *check) time.Duration {
	pace := check.monitor.Interval
	if check.tally.verdict == unknown && check.monitor.Quickstart {
		pace = min(pace, quickstartInterval)
	}
	return time.Duration(float64(pace) * (1 - jitter + 2*jitter*t.random()))
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
func (t *table) states(of map[plan.Member]bool) map[plan.Member]bool {
	states := map[plan.Member]bool{}
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

func (s *subject) addTo(states map[plan.Member]bool, key plan.Member) {
	if s.verdict != unknown {
		states[key] = s.verdict == up
	}
}

func (s *subject) tallies() []tally {
	all := make([]tally, 0, len(s.checks))
	for _, check := range s.checks {
		all = append(all, check.tally)
	}
	return all
}

// reason is the reason of the first monitor that says down.
func (s *subject) reason(now verdict) string {
	for _, check := range s.checks {
		if now == down && check.tally.verdict == down {
			return check.tally.reason
		}
	}
	return ""
}

func (s *subject) report() Verdict {
	report := Verdict{Member: s.key, Up: s.verdict == up, Reason: s.told, SinceUnixMs: s.sinceUnixMs}
	for _, check := range s.checks {
		report.Monitors = append(report.Monitors, MonitorVerdict{
			UUID: check.monitor.UUID, Up: check.tally.verdict == up, Reason: check.tally.reason, Took: check.tally.took,
		})
	}
	return report
}
