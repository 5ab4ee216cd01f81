// Package place decides which engines serve which virtual service: a pure function of the model, the stage before plan.
//
// For now every engine of a group serves all virtual services of the group.
package place

import (
	"github.com/weir-lb/weir/controller/model"
)

// Placement says who serves what.
type Placement struct {
	services map[string][]*model.VirtualService // by engine uuid, sorted by uuid
	engines  map[string][]string                // uuids by virtual service uuid, sorted
}

// Services are the virtual services that an engine serves.
func (p Placement) Services(engineUUID string) []*model.VirtualService { return p.services[engineUUID] }

// Engines are the uuids of those that serve a virtual service.
func (p Placement) Engines(virtualServiceUUID string) []string { return p.engines[virtualServiceUUID] }

// Place puts the virtual services that take traffic on the engines that may have some.
func Place(m *model.Model) Placement {
	placement := Placement{services: map[string][]*model.VirtualService{}, engines: map[string][]string{}}
	for _, group := range m.Groups {
		for _, engine := range group.Engines {
			if !mayServe(engine) {
				continue
			}
			for _, vs := range group.VirtualServices {
				if !takesTraffic(vs) {
					continue
				}
				placement.services[engine.UUID] = append(placement.services[engine.UUID], vs)
				placement.engines[vs.UUID] = append(placement.engines[vs.UUID], engine.UUID)
			}
		}
	}
	return placement
}

// mayServe: SE_STATE_DISABLED_FOR_PLACEMENT keeps what an engine has, which here is all there is.
func mayServe(engine *model.Engine) bool {
	return engine.EnableState != "SE_STATE_DISABLED" && engine.EnableState != "SE_STATE_DISABLED_FORCE"
}

func takesTraffic(vs *model.VirtualService) bool { return vs.Enabled && vs.TrafficEnabled }
