package controller

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// known reads views, and remembers the last one. Of the next view it reads only the records that have changed. It
// belongs to the leader, and has nothing that is not in the store.
type known struct {
	mutex  sync.Mutex
	view   *store.View // nil: none yet
	keeper model.Keeper
	says   knowledge
}

// knowledge is the content of one view.
type knowledge struct {
	model    *model.Model
	findings []model.Finding
	before   place.Assignments
	rings    tickets.Rings
}

func (k *known) read(view *store.View) (knowledge, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if view == k.view {
		return k.says, nil
	}
	changes, assignments, rings := []model.Change(nil), map[string]*place.Assignment{}, map[string]*tickets.Ring{}
	for _, change := range view.Since(k.view) {
		var err error
		switch change.Kind {
		case assignmentKind:
			assignments[change.UUID], err = decode[place.Assignment](change.Record)
		case ringKind:
			rings[change.UUID], err = decode[tickets.Ring](change.Record)
		default:
			changes = append(changes, model.Change{Kind: change.Kind, UUID: change.UUID,
				Object: objectOf(change.Record)})
		}
		if err != nil {
			return knowledge{}, fmt.Errorf("%s %s cannot be read: %w", change.Kind, change.UUID, err)
		}
	}
	k.says.before, k.says.rings = k.says.before.Edit(assignments), k.says.rings.Edit(rings)
	k.says.model, k.says.findings = k.keeper.Keep(view.Revision(), changes)
	k.view = view
	return k.says, nil
}

func objectOf(record *store.Record) schema.Object {
	if record == nil {
		return nil
	}
	return record.Object
}

// decode returns nil for a record that is deleted.
func decode[T any](record *store.Record) (*T, error) {
	if record == nil {
		return nil, nil
	}
	body, err := json.Marshal(record.Object)
	if err != nil {
		return nil, err
	}
	value := new(T)
	return value, json.Unmarshal(body, value)
}
