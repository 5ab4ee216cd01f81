package agent

import (
	"context"
	"sync"

	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/returnpath"
)

// ground is what a Plan needs in the kernel before it serves. Each method loads programs or asks the kernel, and may
// take long.
type ground interface {
	Expect(*plan.Plan) []plan.Finding // comes; the findings say why it cannot serve
	Hold(*plan.Plan)                  // serves
	Assume(*plan.Plan)                // stands for a newer one that serves and that the agent does not have
	Refused(*plan.Plan)               // was refused, and the one that serves goes on to
	Attend()                          // something may have changed by itself
}

// grounds are the fast path, without which a Plan can serve, and the return path.
type grounds struct {
	detour *detour.Set
	path   *returnpath.Set
}

func (g grounds) Expect(plan *plan.Plan) []plan.Finding {
	findings := g.path.Expect(plan)
	if findings == nil {
		g.detour.Expect(plan)
	}
	return findings
}

func (g grounds) Hold(plan *plan.Plan) {
	g.detour.Hold(plan)
	g.path.Hold(plan)
}

func (g grounds) Assume(plan *plan.Plan) {
	g.detour.Assume(plan)
	g.path.Assume(plan)
}

func (g grounds) Refused(plan *plan.Plan) {
	g.detour.Refused(plan)
	g.path.Refused(plan)
}

func (g grounds) Attend() {
	g.detour.Attend()
	g.path.Attend()
}

// preparer prepares the kernel for Plans in the background, and passes each Plan on when that is done. It refuses a
// Plan for which the kernel cannot be prepared. While something takes long, only the newest Plan waits.
type preparer struct {
	ground ground
	deny   func(*plan.Plan, []plan.Finding)
	woken  chan struct{} // capacity 1

	mu      sync.Mutex
	waiting chores
}

// chores are what waits.
type chores struct {
	assumed *plan.Plan // nil: none
	held    *plan.Plan // nil: none
	refused []*plan.Plan
	coming  *plan.Plan // nil: none
	pass    func(*plan.Plan)
	attend  bool
}

func newPreparer(ground ground, deny func(*plan.Plan, []plan.Finding)) *preparer {
	return &preparer{ground: ground, deny: deny, woken: make(chan struct{}, 1)}
}

// expect passes a Plan on after the kernel is prepared for it. No method of preparer blocks.
func (p *preparer) expect(plan *plan.Plan, pass func(*plan.Plan)) {
	p.ask(func(c *chores) { c.coming, c.pass = plan, pass })
}

func (p *preparer) hold(plan *plan.Plan) {
	p.ask(func(c *chores) { c.held = plan })
}

// assume comes before the first hold, if at all.
func (p *preparer) assume(plan *plan.Plan) {
	p.ask(func(c *chores) { c.assumed = plan })
}

func (p *preparer) refuse(plan *plan.Plan) {
	p.ask(func(c *chores) { c.refused = append(c.refused, plan) })
}

func (p *preparer) attend() { p.ask(func(c *chores) { c.attend = true }) }

func (p *preparer) ask(note func(*chores)) {
	p.mu.Lock()
	note(&p.waiting)
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// run works until ctx ends, and returns when the current step is done.
func (p *preparer) run(ctx context.Context) {
	for {
		select {
		case <-p.woken:
			p.work()
		case <-ctx.Done():
			return
		}
	}
}

// work does what is waiting. The serving Plan comes before an expected one, which builds on it.
func (p *preparer) work() {
	p.mu.Lock()
	due := p.waiting
	p.waiting = chores{}
	p.mu.Unlock()
	if due.assumed != nil {
		p.ground.Assume(due.assumed)
	}
	if due.held != nil {
		p.ground.Hold(due.held)
	}
	for _, refused := range due.refused {
		p.ground.Refused(refused)
	}
	if due.coming != nil {
		if findings := p.ground.Expect(due.coming); findings != nil {
			p.deny(due.coming, findings)
		} else {
			due.pass(due.coming)
		}
	}
	if due.attend {
		p.ground.Attend()
	}
}
