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

// groupOf returns the group of an engine; nil: it has none.
func (c *Compiler) groupOf(engineUUID string) *model.Group {
	if engine := c.engines[engineUUID]; engine != nil {
		return engine.Group
	}
	return nil
}

// obeyGroup adds the group's settings for the process of the engine, unless they are the defaults.
func (a *assembly) obeyGroup(edits map[string]*enginev1.Resource) {
	if a.group == nil {
		return
	}
	if pinning := workerPinnings[a.group.WorkerPinning]; pinning != dataplanev1.WorkerPinning_WORKER_PINNING_AUTO {
		uuid := a.group.UUID
		settings := &enginev1.EngineSettings{Uuid: uuid, WorkerPinning: pinning}
		edits[uuid] = &enginev1.Resource{Uuid: uuid, Body: &enginev1.Resource_EngineSettings{EngineSettings: settings}}
	}
}
