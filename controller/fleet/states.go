package fleet

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// ServiceHealth returns the state of a virtual service.
func (k *Known) ServiceHealth(vs *model.VirtualService) health.Status {
	return k.serviceHealth(vs, k.PoolHealth)
}

func (k *Known) serviceHealth(vs *model.VirtualService, poolHealth func(*model.Pool) health.Pool) health.Status {
	assigned := k.Assigned(vs.UUID)
	return health.OfService(vs, health.ServiceFacts{
		Assigned:  len(assigned),
		Serving:   len(k.Serving(vs.UUID, assigned)),
		Planned:   k.isPlanned(vs.UUID, assigned),
		Lack:      k.lacks()[vs.SeatsOf()],
		Pool:      poolHealth,
		Findings:  func() []string { return k.ownFindings(vs) },
		NotServed: func() []string { return k.whyNotServed(vs, assigned) },
	})
}

// EnginesWanted returns how many engines should serve a virtual service.
func (k *Known) EnginesWanted(vs *model.VirtualService) int {
	wanted := len(k.Assigned(vs.UUID))
	if lack := k.lacks()[vs.SeatsOf()]; lack != nil {
		wanted = max(wanted, lack.Wanted)
	}
	return wanted
}

// isPlanned tells whether the virtual service is in the Plan of one of these engines. If not, the controller left it
// out because of a finding.
func (k *Known) isPlanned(serviceUUID string, engines []string) bool {
	return slices.ContainsFunc(engines, func(id string) bool { return k.engines[id].isDue(serviceUUID) })
}

func (k *Known) ownFindings(vs *model.VirtualService) []string {
	var texts []string
	for _, finding := range k.findingsOf(concernsOf(vs)) {
		texts = append(texts, fmt.Sprintf("%s %s: %s: %s", finding.Kind, finding.Name, finding.Field, finding.Message))
	}
	return texts
}

func (k *Known) whyNotServed(vs *model.VirtualService, engines []string) []string {
	var reasons []string
	for _, id := range engines {
		reasons = append(reasons, fmt.Sprintf("engine %s %s", k.Name(id), k.engines[id].WhyNot(vs)))
	}
	return reasons
}

// PoolHealth returns the state of a pool and of its servers, as seen by the engines that use the pool.
func (k *Known) PoolHealth(pool *model.Pool) health.Pool {
	engines := k.poolEngines(pool)
	servers := make([]health.Server, len(pool.Members))
	seen := make([]health.Seen, 0, len(engines)*len(pool.Members)) // one allocation for all servers
	for i := range pool.Members {
		first := len(seen)
		for _, id := range engines {
			by := k.engines[id].sees(pool, &pool.Members[i])
			by.Engine = id
			seen = append(seen, by)
		}
		servers[i] = health.OfServer(pool, &pool.Members[i], seen[first:])
	}
	return health.OfPool(pool, len(engines) > 0, servers)
}

// EnginesWith returns the number of engines that serve a virtual service with a pool. While a virtual service moves, an
// engine that is about to leave does not count beside the one that takes its place. It counts while there is none.
func (k *Known) EnginesWith(pool *model.Pool) int {
	count := map[string]bool{}
	for vs := range k.users[pool] {
		var stay, leave []string
		for _, seat := range k.Assignment(vs.UUID).Seats {
			switch seat.State {
			case place.Starting, place.Serving:
				stay = append(stay, seat.Engine)
			case place.Leaving, place.Draining:
				leave = append(leave, seat.Engine)
			}
		}
		if len(stay) == 0 {
			stay = leave
		}
		for _, engine := range stay {
			count[engine] = true
		}
	}
	return min(len(k.poolEngines(pool)), len(count))
}

// Unheard returns the names of the engines that may still send clients to servers of a pool as it was before: they do
// not work, or have not applied its newest state. They are sorted.
func (k *Known) Unheard(pool *model.Pool) (names []string) {
	for id := range k.assignedTo(pool) {
		engine := k.engines[id]
		if !engine.Works() || !engine.HasApplied(pool.UUID) && !engine.HasNewest() {
			names = append(names, k.Name(id))
		}
	}
	slices.Sort(names)
	return names
}

// poolEngines returns the uuids of the engines that serve a virtual service with this pool, sorted. If none serves
// because routers send it no clients, they are the engines that are otherwise ready to serve.
func (k *Known) poolEngines(pool *model.Pool) []string {
	var engines, ready []string
	for vs := range k.users[pool] {
		assigned := k.Assigned(vs.UUID)
		engines = append(engines, k.Serving(vs.UUID, assigned)...)
		ready = append(ready, k.ready(vs.UUID, assigned)...)
	}
	if len(engines) == 0 {
		engines = ready
	}
	slices.Sort(engines)
	return slices.Compact(engines)
}

// assignedTo returns the uuids of the engines that serve a virtual service with this pool, or shall, or still drain it.
func (k *Known) assignedTo(pool *model.Pool) map[string]bool {
	engines := map[string]bool{}
	for vs := range k.users[pool] {
		for _, uuid := range k.Assigned(vs.UUID) {
			engines[uuid] = true
		}
	}
	return engines
}
