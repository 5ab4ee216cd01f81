package fleet

import (
	"maps"
	"slices"
	"sync"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/sorted"
)

// Known is what the controller wants now, and what engines have reported. Only the function given to Read may use it,
// and must not change it.
type Known struct {
	state   reconcile.State
	engines map[string]*Engine // those that have a Plan or have reported; Observe removes deleted ones

	*wanted
	lacks    func() map[string]*place.Unplaced // of state, by virtual service uuid
	found    func() map[string][]int           // positions in the findings of state, by uuid of the object
	counting counting
	past     past
	before   before
	news     news
}

// ServerKey identifies a server: by the uuid of its pool, and by its id in the pool.
type ServerKey struct{ Pool, Server string }

// Read calls look with what is known, under the lock. look must not keep any of it but what an engine has reported,
// such as Engine.Routing: a report never changes, the next one replaces it.
func (f *Fleet) Read(look func(known *Known)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	look(&f.known)
}

// Engine returns the record of an engine; nil: there is none.
func (k *Known) Engine(uuid string) *Engine { return k.engines[uuid] }

// Name is the name of an engine in events and pages.
func (k *Known) Name(engineUUID string) string {
	if engine := k.named[engineUUID]; engine != nil {
		return engine.Name
	}
	return engineUUID
}

// VirtualService returns nil if the model does not have the virtual service.
func (k *Known) VirtualService(uuid string) *model.VirtualService { return k.services[uuid] }

// Pool returns nil if the model does not have the pool.
func (k *Known) Pool(uuid string) *model.Pool { return k.pools[uuid] }

// Assignment returns the decision about a virtual service. That about a child is the one about its parent.
func (k *Known) Assignment(serviceUUID string) place.Assignment {
	return k.state.Assignments.Of(k.seatsOf(serviceUUID))
}

func (k *Known) seatsOf(serviceUUID string) string {
	if vs := k.services[serviceUUID]; vs != nil {
		return vs.SeatsOf()
	}
	return serviceUUID
}

// Assigned returns the engines that should answer clients of a virtual service, or still do so while they drain.
func (k *Known) Assigned(serviceUUID string) []string {
	var engines []string
	for _, seat := range k.Assignment(serviceUUID).Seats {
		if duty := seat.Duty(); duty == place.Serve || duty == place.Drain {
			engines = append(engines, seat.Engine)
		}
	}
	return engines
}

// Serving returns those of the engines that answer clients of a virtual service now.
func (k *Known) Serving(serviceUUID string, engines []string) []string {
	return slices.DeleteFunc(k.ready(serviceUUID, engines), func(id string) bool {
		return k.engines[id].CutOff(k.services[k.seatsOf(serviceUUID)]) != ""
	})
}

// ready returns those of the engines that could answer clients if routers sent them any.
func (k *Known) ready(serviceUUID string, engines []string) []string {
	var ready []string
	for _, id := range engines {
		if engine := k.engines[id]; engine.Works() && engine.Serves(serviceUUID) {
			ready = append(ready, id)
		}
	}
	return ready
}

// observe takes the newest state that the controller wants, and visits what has changed in it.
func (k *Known) observe(state reconcile.State) {
	for was, is := range k.state.Assignments.Differences(state.Assignments) {
		if was == nil {
			was = is
		}
		k.news.services[was.VirtualService] = true
		maps.Copy(k.news.services, k.children[was.VirtualService])
	}
	k.index(state)
	k.state = state
	services, pools := k.wanted.turn(state.Model)
	k.news.of(services, pools)
	for uuid := range services {
		if k.services[uuid] == nil {
			delete(k.past.services, uuid)
			delete(k.before.services, uuid)
		}
	}
	for uuid := range pools {
		if k.wanted.pools[uuid] == nil {
			delete(k.past.queues, uuid)
			delete(k.before.queues, uuid)
		}
	}
}

// index replaces the indexes of the state where the next state differs. An index is made when it is first used: most
// states are replaced before that.
func (k *Known) index(next reconcile.State) {
	unplaced, findings := next.Unplaced, next.Findings // a function must not keep all of the state
	if k.lacks == nil || !sorted.IsOne(k.state.Unplaced, next.Unplaced) {
		k.lacks = sync.OnceValue(func() map[string]*place.Unplaced { return lacksOf(unplaced) })
	}
	if k.found == nil || !sorted.IsOne(k.state.Findings, next.Findings) {
		k.found = sync.OnceValue(func() map[string][]int { return positionsOf(findings) })
	}
}

func lacksOf(unplaced []place.Unplaced) map[string]*place.Unplaced {
	lacks := make(map[string]*place.Unplaced, len(unplaced))
	for i := range unplaced {
		lacks[unplaced[i].VirtualService] = &unplaced[i]
	}
	return lacks
}

func positionsOf(findings []model.Finding) map[string][]int {
	positions := map[string][]int{}
	for i, finding := range findings {
		positions[finding.UUID] = append(positions[finding.UUID], i)
	}
	return positions
}
