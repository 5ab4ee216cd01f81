package fleet

import (
	"fmt"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// verdictsMax servers of one engine are remembered; what comes above is dropped.
const verdictsMax = 50_000

// Verdict is what the monitors of an engine last said of a server; nil: nothing yet.
func (e *Engine) Verdict(server ServerKey) *enginev1.ServerVerdict { return e.verdicts[server] }

func (e *Engine) judge(verdicts *enginev1.ServerVerdicts) {
	for _, verdict := range verdicts.GetVerdicts() {
		key := ServerKey{verdict.GetPoolUuid(), verdict.GetServerId()}
		if _, known := e.verdicts[key]; known || len(e.verdicts) < verdictsMax {
			e.verdicts[key] = verdict
		}
	}
}

// sees is the word of the monitors. Where they have nothing against a server, connections to it that come to nothing
// do.
func (e *Engine) sees(pool *model.Pool, member *model.Member) health.Seen {
	key := ServerKey{pool.UUID, member.ID}
	verdict, suspectSince := e.verdicts[key], e.suspects[key]
	monitored := len(pool.HealthMonitors) > 0
	switch {
	case monitored && verdict == nil:
		return health.Seen{}
	case monitored && !verdict.GetUp():
		return health.Seen{State: health.Down, Reason: verdict.GetReason(), Told: true, Since: sinceOf(verdict)}
	case !suspectSince.IsZero():
		return health.Seen{State: health.Down, Reason: e.suspicion(key), Told: true, Since: suspectSince}
	case monitored:
		return health.Seen{State: health.Up, Told: true, Since: sinceOf(verdict)}
	default:
		return health.Seen{State: health.Up, Reason: "not monitored"}
	}
}

func sinceOf(verdict *enginev1.ServerVerdict) time.Time {
	return time.UnixMilli(int64(verdict.GetSinceUnixMs()))
}

// suspicion says to how many of an engine's workers a server is suspect. Each decides for itself.
func (e *Engine) suspicion(server ServerKey) string {
	return fmt.Sprintf("inline_health_monitor: new connections to it come to nothing on %d of %d workers",
		e.Sample.Server(server).GetSuspectingWorkers(), e.Sample.GetWorkers())
}

// forgetServers keeps the verdicts of servers that are wanted, and of those that the engine still has: a server that is
// taken out and put back before the engine hears of it gets no second verdict.
func (e *Engine) forgetServers(wanted map[ServerKey]bool) {
	var held map[ServerKey]bool
	for key := range e.verdicts {
		if wanted[key] {
			continue
		}
		if held == nil {
			held = serversIn(e.Held)
		}
		if !held[key] {
			delete(e.verdicts, key)
		}
	}
}

func serversIn(held *enginev1.Plan) map[ServerKey]bool {
	keys := map[ServerKey]bool{}
	for _, resource := range held.GetResources() {
		pool := resource.GetPool().GetPool()
		for _, server := range pool.GetServers() {
			keys[ServerKey{pool.GetUuid(), server.GetId()}] = true
		}
	}
	return keys
}

func membersOf(pools []*model.Pool) map[ServerKey]bool {
	keys := map[ServerKey]bool{}
	for _, pool := range pools {
		for _, member := range pool.Members {
			keys[ServerKey{pool.UUID, member.ID}] = true
		}
	}
	return keys
}
