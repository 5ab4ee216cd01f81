package dataplane

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func TestDataPlaneThatServesANewerPlanThanTheOneOnDiskKeepsIt(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	r.supervisor.Kept = planAt(1, port)
	r.supervisor.Apply(r.supervisor.Kept)
	r.run()
	socket := func(worker uint32) *dataplanev1.Socket {
		return &dataplanev1.Socket{Address: "127.0.0.1", Port: port, Worker: worker}
	}
	far := r.accept(2, socket(0), socket(1))
	r.expect("running at 2", "applied 1")
	r.expectFrames(far, "1 states")
	r.supervisor.Apply(planAt(3, port))
	r.expectFrames(far, "plan 3")
	r.answer(far, ackOf(3))
	r.expect("running at 3", "applied 3")
}

func TestDataPlaneThatServesANewerPlanKeepsItWhenItsConnectionBreaks(t *testing.T) {
	r := newRig(t)
	r.supervisor.Kept = planAt(1, freePort(t))
	r.supervisor.Apply(r.supervisor.Kept)
	r.run()
	far := r.accept(2)
	r.expect("running at 2", "applied 1")
	far.Close()
	far = r.accept(2)
	r.expect("running at 2")
	r.supervisor.Apply(planAt(3, freePort(t)))
	r.expectFrames(far, "1 states", "2 sockets", "plan 3")
}

func TestNewDataPlaneGetsThePlanOnDiskAtOnceThoughTheOneBeforeServedANewerPlan(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	r.supervisor.Kept = planAt(1, port)
	r.supervisor.Apply(r.supervisor.Kept)
	r.run()
	far := r.accept(2)
	r.expect("running at 2", "applied 1")
	far.Close()
	far = r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
}

func TestNewDataPlaneGetsThePlanOnDiskAtOnce(t *testing.T) {
	r := newRig(t)
	r.supervisor.Kept = planAt(1, freePort(t))
	r.serve(r.supervisor.Kept)
}
