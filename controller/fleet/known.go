package fleet

import (
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
)

// Known is what is known now: what the controller wants, and what engines reported. It may be read only, and only
// within Read.
type Known struct {
	state   reconcile.State
	engines map[string]*Engine // those that have a Plan or have reported; Observe removes deleted ones

	*wanted
	past past
	news news
}

// ServerKey names a server: by the uuid of its pool, and by its id in there.
type ServerKey struct{ Pool, Server string }

// Read calls look with what is known, under the lock. look must not keep any of it.
func (f *Fleet) Read(look func(known *Known)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	look(&f.known)
}

// Engine is nil for one that nothing is known of.
func (k *Known) Engine(uuid string) *Engine { return k.engines[uuid] }

// Name is what operators call an engine.
func (k *Known) Name(engineUUID string) string {
	if engine := k.named[engineUUID]; engine != nil {
		return engine.Name
	}
	return engineUUID
}

// VirtualService is nil for one that the model does not have.
func (k *Known) VirtualService(uuid string) *model.VirtualService { return k.services[uuid] }

// Pool is nil for one that the model does not have.
func (k *Known) Pool(uuid string) *model.Pool { return k.pools[uuid] }

// Assignment is what is decided about a virtual service.
func (k *Known) Assignment(serviceUUID string) place.Assignment {
	return k.state.Assignments.Of(serviceUUID)
}

// Assigned are the engines that a virtual service is on, beside one that only stands by.
func (k *Known) Assigned(serviceUUID string) []string {
	var engines []string
	for _, seat := range k.Assignment(serviceUUID).Seats {
		if seat.State != place.Standby {
			engines = append(engines, seat.Engine)
		}
	}
	return engines
}

// Serving are those of some engines that answer clients of a virtual service now.
func (k *Known) Serving(serviceUUID string, engines []string) []string {
	return slices.DeleteFunc(k.ready(serviceUUID, engines), func(id string) bool {
		return k.engines[id].CutOff(k.services[serviceUUID]) != ""
	})
}

// ready are those of some engines that would answer clients, if routers sent them any.
func (k *Known) ready(serviceUUID string, engines []string) []string {
	var ready []string
	for _, id := range engines {
		if engine := k.engines[id]; engine.Works() && engine.Serves(serviceUUID) {
			ready = append(ready, id)
		}
	}
	return ready
}

// observe takes what the controller wants from now on, and looks at what is not as it was.
func (k *Known) observe(state reconcile.State) {
	for was, is := range k.state.Assignments.Differences(state.Assignments) {
		if was == nil {
			was = is
		}
		k.news.services[was.VirtualService] = true
	}
	k.state = state
	services, pools := k.wanted.turn(state.Model)
	k.news.ofServices(services)
	maps.Copy(k.news.pools, pools)
	for uuid := range services {
		if k.services[uuid] == nil {
			delete(k.past.services, uuid)
		}
	}
}
