package agent

import (
	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/monitor"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// What the parts of an agent say, as the controller is told of it.

var wireStates = map[dataplane.State]enginev1.DataplaneState{
	dataplane.Starting:   enginev1.DataplaneState_DATAPLANE_STATE_STARTING,
	dataplane.Running:    enginev1.DataplaneState_DATAPLANE_STATE_RUNNING,
	dataplane.BackingOff: enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF,
	dataplane.Stopped:    enginev1.DataplaneState_DATAPLANE_STATE_STOPPED,
}

func wireStatus(status dataplane.Status) *enginev1.Status {
	return &enginev1.Status{
		Dataplane: wireStates[status.State], Reason: status.Reason, DataplanePid: uint32(status.PID),
		DataplaneRestarts: status.Restarts, ServingRevision: status.ServingRevision, SinceUnixMs: status.SinceUnixMs,
	}
}

func wireVerdicts(verdicts []monitor.Verdict) *enginev1.ServerVerdicts {
	all := new(enginev1.ServerVerdicts)
	for _, verdict := range verdicts {
		said := &enginev1.ServerVerdict{
			PoolUuid: verdict.Pool, ServerId: verdict.Server, Up: verdict.Up, Reason: verdict.Reason,
			SinceUnixMs: verdict.SinceUnixMs,
		}
		for _, each := range verdict.Monitors {
			said.Monitors = append(said.Monitors, &enginev1.MonitorVerdict{
				HealthMonitorUuid: each.UUID, Up: each.Up, Reason: each.Reason, ResponseTimeUs: uint32(each.Took.Microseconds()),
			})
		}
		all.Verdicts = append(all.Verdicts, said)
	}
	return all
}

// wireDetours is nil where nothing is passed on.
func wireDetours(counts *detour.Counts) *enginev1.Detours {
	if counts == nil {
		return nil
	}
	return &enginev1.Detours{
		Strays: counts.Strays, Searched: counts.Searched, Found: counts.Found, PassedOn: counts.PassedOn,
		Taken: counts.Taken, Unowned: counts.Unowned, Dropped: counts.Dropped,
	}
}
