package link

import (
	"math"
	"sync"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// desk is what stays of an engine between its sessions: the Plan it shall have and the Plan it is known to hold. It
// is in memory, of the node that the engine has dialled: another node sends it the whole Plan. At most one visit is
// current; what an older one still says is dropped. A visit begins without a target: what the engine was to have may
// be wrong now that it is there.
type desk struct {
	mu      sync.Mutex
	target  *enginev1.Plan
	held    *enginev1.Plan
	visit   *visit
	greeted uint64 // the greeting of the visit
}

// notYet is greater than any greeting.
const notYet = math.MaxUint64

// visit is one session's claim on the desk.
type visit struct {
	retargeted chan struct{} // holds one: the newest Plan is what counts
	ended      chan struct{} // closed when the controller ends the visit
	cause      error         // set before ended closes
}

func (d *desk) plans() (held, target *enginev1.Plan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.target
}

// retarget takes a Plan that was decided upon with all greetings up to one known.
func (d *desk) retarget(plan *enginev1.Plan, known uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.target == plan || d.greeted > known {
		return
	}
	d.target = plan
	if d.visit == nil {
		return
	}
	select {
	case d.visit.retargeted <- struct{}{}:
	default:
	}
}

// enter makes a new visit current and ends the one before.
func (d *desk) enter() *visit {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dismiss(errSuperseded)
	d.target, d.greeted = nil, notYet
	d.visit = &visit{retargeted: make(chan struct{}, 1), ended: make(chan struct{})}
	return d.visit
}

// tell runs f unless another visit has taken over; it reports whether it did.
func (d *desk) tell(visit *visit, f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visit != visit {
		return false
	}
	f()
	return true
}

// leave ends a visit from its own side; f runs if it was the current one.
func (d *desk) leave(visit *visit, f func()) {
	d.tell(visit, func() {
		d.visit = nil
		f()
	})
}

// end dismisses whoever is there.
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
