package monitor

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

const (
	// quickstartInterval is the pace while a new server's first verdict is awaited.
	quickstartInterval = time.Second
	// spread is the distance between the first checks of servers that come with one Plan.
	spread = 5 * time.Millisecond
	// jitter is how far from its interval a check may move, so that checks that began together drift apart.
	jitter = 0.1
)

// Target is what one check is made against.
type Target struct {
	Address    string // IP literal
	Port       uint32
	Hostname   string // empty: none
	ServerName string // what its pool calls it in TLS; empty: its Hostname
	Monitor    *enginev1.HealthMonitor
}

type serverKey struct{ pool, id string }

// subject is a server of a pool that is monitored.
type subject struct {
	key         serverKey
	server      *dataplanev1.Server
	serverName  string // in TLS, if its pool has one
	checks      []*check
	verdict     verdict
	sinceUnixMs uint64
	told        string // the reason that was reported last
}

// check is one monitor on one server.
type check struct {
	subject *subject
	monitor *enginev1.HealthMonitor
	tally   tally
	started time.Time
	due     time.Time
	place   int // in the agenda; -1: not in it, because it runs or is gone
}

// table knows every check and when it is due. It decides everything about monitoring and does no I/O; times are
// monotonic and come from the caller. There are no more checks than the Plan names.
type table struct {
	subjects map[serverKey]*subject
	agenda   agenda
	random   func() float64 // [0, 1)
}

func newTable(random func() float64) *table {
	return &table{subjects: map[serverKey]*subject{}, random: random}
}

// reconcile takes a Plan. What stays keeps its verdict, its counts and its place in time, unless it shall come more often.
func (t *table) reconcile(plan *enginev1.Plan, now time.Time) {
	monitors := map[string]*enginev1.HealthMonitor{}
	for _, resource := range plan.GetResources() {
		if monitor := resource.GetHealthMonitor(); monitor != nil {
			monitors[resource.GetUuid()] = monitor
		}
	}
	before := t.subjects
	t.subjects = map[serverKey]*subject{}
	var soon []*check
	for _, resource := range plan.GetResources() {
		soon = append(soon, t.reconcilePool(resource.GetPool(), monitors, before)...)
	}
	for _, gone := range before {
		t.drop(gone.checks)
	}
	for _, check := range soon {
		within := min(time.Duration(len(soon))*spread, interval(check.monitor))
		t.plan(check, now.Add(time.Duration(t.random()*float64(within))))
	}
}

// reconcilePool takes what stays out of before.
func (t *table) reconcilePool(pool *enginev1.Pool, monitors map[string]*enginev1.HealthMonitor, before map[serverKey]*subject) (soon []*check) {
	var wanted []*enginev1.HealthMonitor
	for _, uuid := range pool.GetHealthMonitorUuids() {
		if monitor := monitors[uuid]; monitor != nil {
			wanted = append(wanted, monitor)
		}
	}
	for _, server := range pool.GetPool().GetServers() {
		if len(wanted) == 0 || !server.GetEnabled() {
			continue
		}
		key := serverKey{pool.GetPool().GetUuid(), server.GetId()}
		kept := before[key]
		if kept == nil || kept.server.GetAddress() != server.GetAddress() || kept.server.GetPort() != server.GetPort() {
			kept = &subject{key: key}
		} else {
			delete(before, key)
		}
		kept.server, kept.serverName = server, pool.GetPool().GetServerTls().GetServerName()
		soon = append(soon, t.assign(kept, wanted)...)
		t.subjects[key] = kept
	}
	return soon
}

// assign gives a subject its monitors, keeping the checks that it has. Those that are new or hastened have to be planned.
func (t *table) assign(subject *subject, monitors []*enginev1.HealthMonitor) (soon []*check) {
	before := subject.checks
	subject.checks = nil
	for _, monitor := range monitors {
		same := func(c *check) bool { return c.monitor.GetUuid() == monitor.GetUuid() }
		at := slices.IndexFunc(before, same)
		if at < 0 {
			added := &check{subject: subject, monitor: monitor, place: -1}
			subject.checks, soon = append(subject.checks, added), append(soon, added)
			continue
		}
		kept := before[at]
		if hastened := interval(monitor) < interval(kept.monitor); hastened && kept.place >= 0 {
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

// drop forgets checks; the outcome of one that runs will find nobody.
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

// begin returns a check that is due and what to run it against, or nil. Until note it is not due again.
func (t *table) begin(now time.Time) (*check, Target) {
	if len(t.agenda) == 0 || t.agenda[0].due.After(now) {
		return nil, Target{}
	}
	check := heap.Pop(&t.agenda).(*check)
	check.started = now
	server, port := check.subject.server, check.subject.server.GetPort()
	if check.monitor.GetMonitorPort() != 0 {
		port = check.monitor.GetMonitorPort()
	}
	return check, Target{
		Address: server.GetAddress(), Port: port, Hostname: server.GetHostname(), ServerName: check.subject.serverName,
		Monitor: check.monitor,
	}
}

// note takes the outcome of a check and plans its next. It returns the server's verdict when there is news in it.
func (t *table) note(check *check, outcome Outcome, now time.Time) *enginev1.ServerVerdict {
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
	return subject.report()
}

func (t *table) pace(check *check) time.Duration {
	pace := interval(check.monitor)
	if check.tally.verdict == unknown && check.monitor.GetQuickstart() {
		pace = min(pace, quickstartInterval)
	}
	return time.Duration(float64(pace) * (1 - jitter + 2*jitter*t.random()))
}

func interval(monitor *enginev1.HealthMonitor) time.Duration {
	return time.Duration(max(1, monitor.GetSendIntervalMs())) * time.Millisecond
}

// reports are the verdicts of all servers that have one, in a stable order.
func (t *table) reports() []*enginev1.ServerVerdict {
	var all []*enginev1.ServerVerdict
	for _, subject := range t.subjects {
		if subject.verdict != unknown {
			all = append(all, subject.report())
		}
	}
	slices.SortFunc(all, func(a, b *enginev1.ServerVerdict) int {
		return cmp.Or(cmp.Compare(a.GetPoolUuid(), b.GetPoolUuid()), cmp.Compare(a.GetServerId(), b.GetServerId()))
	})
	return all
}

func (s *subject) tallies() []tally {
	all := make([]tally, 0, len(s.checks))
	for _, check := range s.checks {
		all = append(all, check.tally)
	}
	return all
}

// reason is that of the first monitor that says down.
func (s *subject) reason(now verdict) string {
	for _, check := range s.checks {
		if now == down && check.tally.verdict == down {
			return check.tally.reason
		}
	}
	return ""
}

func (s *subject) report() *enginev1.ServerVerdict {
	report := &enginev1.ServerVerdict{
		PoolUuid: s.key.pool, ServerId: s.key.id, Up: s.verdict == up, Reason: s.told, SinceUnixMs: s.sinceUnixMs,
	}
	for _, check := range s.checks {
		report.Monitors = append(report.Monitors, &enginev1.MonitorVerdict{
			HealthMonitorUuid: check.monitor.GetUuid(), Up: check.tally.verdict == up, Reason: check.tally.reason,
			ResponseTimeUs: uint32(check.tally.took.Microseconds()),
		})
	}
	return report
}
