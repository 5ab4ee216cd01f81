package fleet

import (
	"fmt"
	"maps"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// verdictsMax is the number of servers of one engine whose verdicts are kept. Further verdicts are dropped, and an
// event says so.
const verdictsMax = 50_000

// checked takes how long the last checks of servers took. Only servers with a verdict count, so there are no more of
// them.
func (e *Engine) checked(times []*enginev1.CheckTime) {
	for _, each := range times {
		key := ServerKey{each.GetPoolUuid(), each.GetServerId()}
		if e.verdicts[key] == nil {
			continue
		}
		if e.checkTimes == nil {
			e.checkTimes = map[ServerKey]time.Duration{}
		}
		e.checkTimes[key] = time.Duration(each.GetTookUs()) * time.Microsecond
	}
	for key := range e.checkTimes {
		if e.verdicts[key] == nil {
			delete(e.checkTimes, key)
		}
	}
}

// CheckTime is how long the last checks of a server took, in the mean over the engines that work. false: none is known.
func (k *Known) CheckTime(server ServerKey) (mean time.Duration, known bool) {
	engines := 0
	for _, engine := range k.engines {
		if took, checked := engine.checkTimes[server]; checked && engine.Works() {
			mean += took
			engines++
		}
	}
	if engines == 0 {
		return 0, false
	}
	return mean / time.Duration(engines), true
}

// Verdict returns the last verdict of the engine's monitors about a server; nil: there is none.
func (e *Engine) Verdict(server ServerKey) *enginev1.ServerVerdict { return e.verdicts[server] }

// judge takes verdicts of an engine's monitors. It adds an event when the engine first reports more servers than are
// kept.
func (f *Fleet) judge(engineUUID string, engine *Engine, verdicts *enginev1.ServerVerdicts) {
	for _, verdict := range verdicts.GetVerdicts() {
		key := ServerKey{verdict.GetPoolUuid(), verdict.GetServerId()}
		if _, known := engine.verdicts[key]; !known && len(engine.verdicts) >= verdictsMax {
			if !engine.overflowed {
				engine.overflowed = true
				f.tell(f.called(engineUUID).ChecksTooMany(verdictsMax))
			}
			continue
		}
		engine.verdicts[key] = verdict
		f.known.news.pools[key.Pool] = true
		if !f.known.members[key] {
			f.known.unwanted[key] = true
		}
	}
}

// sees returns the state of a server as the engine sees it. A server that its monitors find up is down if it is
// suspect: new connections to it fail, or its responses are errors.
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

// suspicion says how many of the engine's workers suspect a server, and why. Each worker decides for itself.
func (e *Engine) suspicion(server ServerKey) string {
	if ejecting := e.Sample.Server(server).GetEjectingWorkers(); ejecting > 0 {
		return fmt.Sprintf("inline_health_monitor: most of its responses are errors, on %d of %d workers",
			ejecting, e.Sample.GetWorkers())
	}
	return fmt.Sprintf("inline_health_monitor: new connections to it fail on %d of %d workers",
		e.Sample.Server(server).GetSuspectingWorkers(), e.Sample.GetWorkers())
}

// forgetServers drops all that engines reported about servers that are no member of a pool any more.
func (k *Known) forgetServers() {
	unwanted := k.unwanted
	if len(unwanted) == 0 {
		return
	}
	k.unwanted = map[ServerKey]bool{}
	for key := range unwanted {
		delete(k.past.servers, key)
		delete(k.before.servers, key)
	}
	for _, engine := range k.engines {
		for _, key := range engine.forgetServers(unwanted) {
			k.unwanted[key] = true
		}
	}
}

// forgetServers drops the verdicts about unwanted servers, and returns the servers whose verdicts it keeps. It keeps
// the verdict if the server is still in the Plan that the engine has: if an operator puts the server back before the
// engine has removed it, the engine does not report the verdict again.
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

// forgetUnchecked drops the verdicts about servers that the engine has ceased to check. before is the Plan that it had;
// if that is not known, forgetUnchecked drops all verdicts about servers that it does not check now. If the engine
// checks a server again later, it starts from the beginning and reports what it finds. It keeps its verdict as long as
// the server has any monitor, and then reports only changes. forgetUnchecked returns the uuids of the pools of these
// servers.
func (e *Engine) forgetUnchecked(before, held *enginev1.Plan, isBeforeKnown bool) (pools map[string]bool) {
	checked, gone := map[ServerKey]bool{}, maps.Keys(e.verdicts)
	if isBeforeKnown {
		ceased := map[ServerKey]bool{}
		for was, is := range sorted.Differences(before.GetResources(), held.GetResources(),
			(*enginev1.Resource).GetUuid) {
			maps.Copy(ceased, checkedIn(was))
			maps.Copy(checked, checkedIn(is))
		}
		gone = maps.Keys(ceased)
	} else {
		for _, resource := range held.GetResources() {
			maps.Copy(checked, checkedIn(resource))
		}
	}
	pools = map[string]bool{}
	for key := range gone {
		if !checked[key] && e.verdicts[key] != nil {
			delete(e.verdicts, key)
			pools[key.Pool] = true
		}
	}
	return pools
}

// checkedIn returns the servers that an engine checks if this resource, a pool, is in its Plan.
func checkedIn(resource *enginev1.Resource) map[ServerKey]bool {
	pool, keys := resource.GetPool().GetPool(), map[ServerKey]bool{}
	if len(resource.GetPool().GetHealthMonitorUuids()) == 0 {
		return nil
	}
	for _, server := range pool.GetServers() {
		if server.GetEnabled() {
			keys[ServerKey{pool.GetUuid(), server.GetId()}] = true
		}
	}
	return keys
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
