package dataplane

import (
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/backoff"
)

const (
	// deathsMax is how many data planes may die over one Plan before the Plan is blamed.
	deathsMax = 2
	// A process gets the Plan again that served before and that it has refused: it may have been short of descriptors.
	// The pause begins with retryFirst, and doubles up to retryMost.
	retryFirst = 5 * time.Second
	retryMost  = time.Minute
)

// rollout decides which Plan a data plane gets next. One Plan is in flight at a time, and only the newest of those that
// wait counts. A new process first gets the last Plan that served, so that a Plan that kills data planes does least
// harm.
type rollout struct {
	applied  *attempt // acknowledged; what a new process is given back
	pending  *attempt // asked for and not decided; nil: none
	flight   *attempt // sent to this process, unanswered; one of the two above, or a pending one that was overtaken
	restored bool     // this process has what was applied, or has refused it, or there was nothing
	retryIn  int      // beats until this process gets again what was applied and it has refused; 0: no retry is due
	retries  backoff.Backoff
}

type attempt struct {
	plan   *plan.Plan
	deaths int
	// isOlder: the process that ran when it was assumed serves a newer Plan, which the agent does not have.
	isOlder bool
}

// verdict is the outcome of a Plan that was submitted.
type verdict struct {
	plan    *plan.Plan
	applied bool
}

func (r *rollout) submit(plan *plan.Plan) {
	r.pending = &attempt{plan: plan}
}

// assume counts a Plan as applied, although this process serves a newer one that the agent does not have. Only a new
// process gets the Plan. The revision of the newer Plan may be the lower one.
func (r *rollout) assume(plan *plan.Plan) {
	r.applied = &attempt{plan: plan, isOlder: true}
}

// begin is told of each connection to a data plane: what was in flight is not any more. serves is the revision of the
// Plan that the data plane has; 0: none.
func (r *rollout) begin(serves uint64) {
	r.flight, r.retryIn, r.retries = nil, 0, backoff.Backoff{First: retryFirst, Most: retryMost}
	isDeadly := r.pending != nil && r.applied != nil && r.applied.deaths >= deathsMax
	servesNewer := r.applied != nil && r.applied.isOlder && serves != 0 && serves != r.applied.plan.Revision
	r.restored = r.applied == nil || isDeadly || servesNewer
}

// beat counts the beats until a process gets a Plan again that it has refused. It counts none while a newer Plan is in
// flight.
func (r *rollout) beat() {
	if r.retryIn == 0 || r.flight != nil {
		return
	}
	if r.retryIn--; r.retryIn == 0 {
		r.restored = false
	}
}

// next returns the Plan to send now; nil: none.
func (r *rollout) next() *plan.Plan {
	switch {
	case r.flight != nil:
		return nil
	case !r.restored:
		r.flight = r.applied
	case r.pending != nil:
		r.flight = r.pending
	default:
		return nil
	}
	return r.flight.plan
}

// again has the Plan in flight be sent once more, unless a newer one takes its place.
func (r *rollout) again() {
	r.flight = nil
}

// restoring tells whether the Plan in flight is one that served already.
func (r *rollout) restoring() bool {
	return r.flight != nil && r.flight == r.applied
}

// answered ends the flight. It returns the verdict when somebody waits for one, or when an older Plan serves after the
// process with the newer Plan has died.
func (r *rollout) answered(applied bool) *verdict {
	landed := r.flight
	restoring := r.restoring()
	wasOlder := landed.isOlder
	r.flight, r.restored = nil, true
	landed.deaths = 0
	if r.pending == landed {
		r.pending = nil
	}
	if applied {
		r.applied, r.retryIn = landed, 0
		landed.isOlder = false
	}
	if !restoring || wasOlder && applied {
		return &verdict{plan: landed.plan, applied: applied}
	}
	if !applied {
		r.retryIn = max(1, int(r.retries.Next()/beat))
	}
	return nil
}

// died is called when a process has ended. It returns a verdict if the Plan in flight was the cause.
func (r *rollout) died() *verdict {
	if r.flight == nil {
		return nil
	}
	r.flight.deaths++
	if r.flight == r.applied || r.flight.deaths < deathsMax {
		r.flight = nil
		return nil
	}
	return r.answered(false)
}

// served is the Plan that served last; nil: none did.
func (r *rollout) served() *plan.Plan {
	if r.applied == nil {
		return nil
	}
	return r.applied.plan
}
