package reconcile

import (
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// EngineEvent is an event about an engine, for operators.
type EngineEvent struct {
	ID      string // Avi's name: CREATED_SE
	Engine  *model.Engine
	Message string
}

// engineEvents compares two models. It returns which engines were added or deleted, and which engines an operator
// enabled or disabled. The first model has no model to be compared with, and causes no events.
func engineEvents(former, now *model.Model) (happened []EngineEvent) {
	if former == nil || sorted.IsOne(former.Engines, now.Engines) {
		return nil
	}
	was := map[string]*model.Engine{}
	for _, engine := range former.Engines {
		was[engine.UUID] = engine
	}
	for _, engine := range now.Engines {
		if before := was[engine.UUID]; before == nil {
			happened = append(happened, EngineEvent{"CREATED_SE", engine, "has joined"})
		} else if before.EnableState != engine.EnableState {
			message := "is " + engine.EnableState + " after " + before.EnableState
			happened = append(happened, EngineEvent{"SE_ENABLE_STATE_CHANGED", engine, message})
		}
		delete(was, engine.UUID)
	}
	for _, uuid := range slices.Sorted(maps.Keys(was)) {
		happened = append(happened, EngineEvent{"DELETED_SE", was[uuid], "is deleted"})
	}
	return happened
}
