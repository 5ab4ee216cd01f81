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

func (e *Engine) judge(verdicts *enginev1.ServerVerdicts, wanted *wanted) {
	for _, verdict := range verdicts.GetVerdicts() {
		key := ServerKey{verdict.GetPoolUuid(), verdict.GetServerId()}
		if _, known := e.verdicts[key]; !known && len(e.verdicts) >= verdictsMax {
			continue
		}
		e.verdicts[key] = verdict
		if !wanted.members[key] {
			wanted.unwanted[key] = true
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

// forgetServers forgets what was said of servers that are members of no pool any more.
func (k *Known) forgetServers() {
	unwanted := k.unwanted
	if len(unwanted) == 0 {
		return
	}
	k.unwanted = map[ServerKey]bool{}
	for key := range unwanted {
		delete(k.past.servers, key)
	}
	for _, engine := range k.engines {
		for _, key := range engine.forgetServers(unwanted) {
			k.unwanted[key] = true
		}
	}
}

// forgetServers drops the verdicts of unwanted servers, but for those that the engine still has: a server that is taken
// out and put back before the engine hears of it gets no second verdict. It returns these.
func (e *Engine) forgetServers(unwanted map[ServerKey]bool) (kept []ServerKey) {
	var held map[ServerKey]bool
	for key := range unwanted {
		if e.verdicts[key] == nil {
			continue
		}
		if held == nil {
			held = serversIn(e.Held)
		}
		if held[key] {
			kept = append(kept, key)
		} else {
			delete(e.verdicts, key)
		}
	}
	return kept
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
