// Package live keeps what the fleet counted in the last five minutes, and tells those who watch it what happens now.
//
// A step is the time between two samples of all engines, about a second. Every five seconds a coarse step ends, and the
// ring takes a point of each virtual service and of each engine (ring.go). What somebody watches has a point for each
// step as well. window.go takes the differences of samples, sum.go adds them up, and pace.go says when a step ends.
// These files read no clock.
//
// It belongs to the leader. All of it is in memory and lost with the leader.
package live

import (
	"context"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/slowness"
)

// Live is what happens now.
type Live struct {
	fleet  *fleet.Fleet
	scores Scores
	slow   slowness.Of
	now    func() time.Time

	mu       sync.Mutex
	ring     *ring
	pace     pace
	statuses statuses
	turned   chan struct{}     // closed when the next step ends
	memo     map[string][]byte // parts of events that this step's readers share
}

// Scores returns the health score of a virtual service. It must not wait for the fleet, which is locked. false: there
// is none.
type Scores func(serviceUUID string) (score.Score, bool)

// New returns what happens in a fleet. Run counts it.
func New(fleet *fleet.Fleet, scores Scores, slow slowness.Of, now func() time.Time) *Live {
	return &Live{
		fleet: fleet, scores: scores, slow: slow, now: now, ring: newRing(), statuses: newStatuses(),
		turned: make(chan struct{}), memo: map[string][]byte{},
	}
}

// Run ends steps until ctx ends.
func (l *Live) Run(ctx context.Context) error {
	l.mu.Lock()
	l.pace.begin(l.now())
	l.mu.Unlock()
	alarm := time.NewTimer(stepMost)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.fleet.Sampled():
		case <-alarm.C:
		}
		alarm.Reset(l.tick())
	}
}

// tick ends the step if it is due. It returns how long to wait for the next sample.
func (l *Live) tick() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.fleet.Read(l.ring.hear)
	if wait := l.pace.wait(now, l.ring.isComplete()); wait > 0 {
		return wait
	}
	l.pace.begin(now)
	l.ring.lookUp(l.fleet)
	l.ring.step(now)
	clear(l.memo)
	close(l.turned)
	l.turned = make(chan struct{})
	return stepLeast
}
