package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

var workerPinnings = map[string]dataplanev1.WorkerPinning{
	"AUTO":   dataplanev1.WorkerPinning_WORKER_PINNING_AUTO,
	"ALWAYS": dataplanev1.WorkerPinning_WORKER_PINNING_ALWAYS,
	"NEVER":  dataplanev1.WorkerPinning_WORKER_PINNING_NEVER,
}

// obeyGroup adds what the engine's group says of its process, where that is something.
func (a *assembly) obeyGroup(m *model.Model, engineUUID string) {
	for _, engine := range m.Engines {
		if engine.UUID != engineUUID || engine.Group == nil {
			continue
		}
		if pinning := workerPinnings[engine.Group.WorkerPinning]; pinning != dataplanev1.WorkerPinning_WORKER_PINNING_AUTO {
			uuid := engine.Group.UUID
			settings := &enginev1.EngineSettings{Uuid: uuid, WorkerPinning: pinning}
			a.resources[uuid] = &enginev1.Resource{Uuid: uuid, Body: &enginev1.Resource_EngineSettings{EngineSettings: settings}}
		}
	}
}
