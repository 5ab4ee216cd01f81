package dataplane

import (
	"fmt"
	"net"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// runBesideNewer runs a supervisor with this Plan on disk, until it has found that the data plane serves a newer one.
func (r *rig) runBesideNewer(disk *plan.Plan, serves uint64, held ...*dataplanev1.Socket) (far *net.UnixConn) {
	r.Helper()
	r.supervisor.Kept = disk
	r.supervisor.Apply(disk)
	r.run()
	far = r.accept(serves, held...)
	r.expect(fmt.Sprint("running at ", serves), fmt.Sprint("assumed ", disk.Revision))
	return far
}

func TestDataPlaneThatServesANewerPlanThanTheOneOnDiskKeepsIt(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	socket := func(worker uint32) *dataplanev1.Socket {
		return &dataplanev1.Socket{Address: "127.0.0.1", Port: port, Worker: worker}
	}
	far := r.runBesideNewer(planAt(1, port), 2, socket(0), socket(1))
	r.expectFrames(far, "1 states")
	r.supervisor.Apply(planAt(3, port))
	r.expectFrames(far, "plan 3")
	r.answer(far, ackOf(3))
	r.expect("running at 3", "applied 3")
}

func TestDataPlaneThatServesANewerPlanKeepsItWhenItsConnectionBreaks(t *testing.T) {
	// The revision of the newer Plan is lower when the controller's store was restored.
	for disk, serves := range map[uint64]uint64{1: 2, 9: 2} {
		t.Run(fmt.Sprintf("%d on disk, %d serves", disk, serves), func(t *testing.T) {
			r := newRig(t)
			r.runBesideNewer(planAt(disk, freePort(t)), serves).Close()
			far := r.accept(serves)
			r.expect(fmt.Sprint("running at ", serves))
			r.supervisor.Apply(planAt(3, freePort(t)))
			r.expectFrames(far, "1 states", "2 sockets", "plan 3")
		})
	}
}

func TestNewDataPlaneGetsThePlanOnDiskAtOnceThoughTheOneBeforeServedANewerPlan(t *testing.T) {
	r := newRig(t)
	r.runBesideNewer(planAt(1, freePort(t)), 2).Close()
	far := r.accept(0)
	r.expect("running at 0")
	r.expectFrames(far, "1 states", "2 sockets", "plan 1")
}

func TestNewDataPlaneGetsThePlanOnDiskAtOnce(t *testing.T) {
	r := newRig(t)
	r.supervisor.Kept = planAt(1, freePort(t))
	r.serve(r.supervisor.Kept)
}
