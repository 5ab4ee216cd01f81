// Package monitor checks which servers can serve. table.go and verdict.go decide, without a clock or a socket. Set runs
// the checks, a limited number at a time, and reports each change. Each probe protocol has a file. A check takes a
// server's certificate and response as a sign of life, and as nothing else.
package monitor

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// runningMax limits the checks that run at the same time, and so their descriptors. Other due checks wait in order.
// With 5,000 servers that do not answer for 4 s in an interval of 10 s, 2,000 checks run.
const runningMax = 2048

// descriptorsOfCheck is how many of the descriptors that the process may have stand for each running check. A check
// uses fewer.
const descriptorsOfCheck = 8

// Config says how to check, and who receives changes.
type Config struct {
	Probe   func(ctx context.Context, target Target) Outcome
	Changed func(Verdict)     // one at a time, in order; may not block
	Heard   func(plan.Member) // States has news of the tasks of a server; may not block
}

// Set is all the monitors of an engine.
type Set struct {
	Config
	most     int           // checks at the same time
	woken    chan struct{} // capacity 1: the agenda has changed
	outcomes chan finished

	mu    sync.Mutex
	table *table
}

type finished struct {
	check   *check
	outcome Outcome
}

// New returns a Set that checks nothing before Run.
func New(config Config) *Set {
	return &Set{
		Config: config, most: affordable(), woken: make(chan struct{}, 1), outcomes: make(chan finished),
		table: newTable(rand.Float64),
	}
}

// affordable is how many checks may run, by the descriptors that the process may have.
func affordable() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1
	}
	return int(max(1, min(runningMax, limit.Cur/descriptorsOfCheck)))
}

// Watch takes the servers and monitors of a Plan. Servers that were there before keep their state.
func (s *Set) Watch(plan *plan.Plan) {
	s.mu.Lock()
	s.table.reconcile(plan.Pools, time.Now())
	s.mu.Unlock()
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Verdicts are those that have been reached.
func (s *Set) Verdicts() []Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.reports()
}

// States tells the data plane which of these servers are up, and how many tasks they have; nil: of all servers. Servers
// without a verdict are left out.
func (s *Set) States(of map[plan.Member]bool) map[plan.Member]plan.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.states(of)
}

// Run makes checks until ctx ends, and returns after the last check.
func (s *Set) Run(ctx context.Context) {
	running := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		s.tell()
		var wait <-chan time.Time
		if running += s.startDue(ctx, s.most-running); running < s.most && s.arm(timer) {
			wait = timer.C
		}
		select {
		case done := <-s.outcomes:
			running--
			s.finish(done)
		case <-wait:
		case <-s.woken:
		case <-ctx.Done():
		}
	}
	for ; running > 0; running-- {
		<-s.outcomes
	}
}

// startDue starts due checks, up to this many, and returns how many.
func (s *Set) startDue(ctx context.Context, most int) (started int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; started < most; started++ {
		check := s.table.begin(time.Now())
		if check == nil {
			break
		}
		go func() { s.outcomes <- finished{check, s.Probe(ctx, check.target)} }()
	}
	return started
}

// arm sets the timer to the next check; false: there is none, or it waits for another one to end.
func (s *Set) arm(timer *time.Timer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	due, any := s.table.next()
	if any {
		timer.Reset(time.Until(due))
	}
	return any
}

func (s *Set) finish(done finished) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.note(done.check, done.outcome, time.Now())
}

// tell reports what has changed.
func (s *Set) tell() {
	s.mu.Lock()
	news, heard := s.table.takeNews(), s.table.takeHeard()
	s.mu.Unlock()
	for _, verdict := range news {
		s.Changed(verdict)
	}
	for _, server := range heard {
		s.Heard(server)
	}
}
