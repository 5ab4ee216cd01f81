package link

import (
	"math"
	"sync"
	"sync/atomic"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// desk is what the controller keeps about an engine between its sessions: the Plan that the engine should have, and the
// Plan that it last confirmed. A desk is in the memory of the node that the engine is connected to; another node sends
// the engine its whole Plan. At most one visit is current; the desk ignores older ones. A visit begins without a
// target: the earlier target was decided while the engine was away, and may be wrong now.
type desk struct {
	// Only the holder of the lock changes it. Most decisions leave it as it is, and need not wait for the lock: its
	// holder may wait for the fleet.
	target  atomic.Pointer[enginev1.Plan]
	mu      sync.Mutex
	held    *enginev1.Plan
	visit   *visit
	greeted uint64 // the greeting of the current visit
}

// notYet is greater than any greeting.
const notYet = math.MaxUint64

// visit is the claim of one session on the desk.
type visit struct {
	retargeted chan struct{} // capacity 1: only the newest Plan counts
	questions  chan *dataplanev1.Question
	shares     chan *dataplanev1.KeyShares // capacity 1
	ended      chan struct{}               // closed when the controller ends the visit
	cause      error                       // set before ended is closed
}

func (d *desk) plans() (held, target *enginev1.Plan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.target.Load()
}

// retarget takes a new Plan. The decision knew of all greetings up to known; retarget ignores the Plan if it does not
// include the greeting of the current visit.
func (d *desk) retarget(plan *enginev1.Plan, known uint64) {
	if d.target.Load() == plan {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.greeted > known {
		return
	}
	d.target.Store(plan)
	if d.visit == nil {
		return
	}
	select {
	case d.visit.retargeted <- struct{}{}:
	default:
	}
}

// enter begins a new visit and ends the one before.
func (d *desk) enter() *visit {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dismiss(errSuperseded)
	d.target.Store(nil)
	d.greeted = notYet
	d.visit = &visit{retargeted: make(chan struct{}, 1), ended: make(chan struct{}),
		questions: make(chan *dataplanev1.Question, questionsMax), shares: make(chan *dataplanev1.KeyShares, 1)}
	return d.visit
}

// questionsMax bounds the questions that wait for one engine. An agent that does not read gets no more.
const questionsMax = 16

// ask passes a question to the current visit. false: there is none, or too many questions wait.
func (d *desk) ask(question *dataplanev1.Question) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visit == nil {
		return false
	}
	select {
	case d.visit.questions <- question:
		return true
	default:
		return false
	}
}

// share passes shares of hot keys to the current visit. false: there is none, or it has not taken the last ones.
func (d *desk) share(shares *dataplanev1.KeyShares) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visit == nil {
		return false
	}
	select {
	case d.visit.shares <- shares:
		return true
	default:
		return false
	}
}

// tell calls f if the visit is still current, and returns whether it is.
func (d *desk) tell(visit *visit, f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visit != visit {
		return false
	}
	f()
	return true
}

// leave ends a visit whose session has ended. If the visit was current, leave calls f and returns true.
func (d *desk) leave(visit *visit, f func()) bool {
	return d.tell(visit, func() {
		d.visit = nil
		f()
	})
}

// end ends the current visit, if there is one.
func (d *desk) end(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dismiss(cause)
}

func (d *desk) dismiss(cause error) {
	if d.visit == nil {
		return
	}
	d.visit.cause = cause
	close(d.visit.ended)
	d.visit = nil
}
