package controller

import (
	"fmt"
	"sync"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

// reader reads views, and remembers the last one. Of the next view it reads only the records that have changed. It
// belongs to the leader. It has nothing that is not in the store or in the file of countries.
type reader struct {
	countries model.Countries
	places    model.Places
	mutex     sync.Mutex
	last      *lastRead // nil: none, so the next view is read as a whole
}

// lastRead is the last view, and what it was read into.
type lastRead struct {
	view    *store.View
	keeper  model.Keeper
	content content
}

// content is the content of one view.
type content struct {
	model    *model.Model
	findings []model.Finding
	before   place.Assignments
	rings    tickets.Rings
}

func (r *reader) read(view *store.View) (content, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last := r.last
	if last == nil {
		last = &lastRead{keeper: model.Keeper{Countries: r.countries, Places: r.places}}
	}
	if view != last.view {
		r.last = nil // an error or a panic leaves it half read
		if err := last.turn(view); err != nil {
			return content{}, err
		}
		r.last = last
	}
	return last.content, nil
}

// turn changes to another view.
func (l *lastRead) turn(view *store.View) error {
	changes, assignments, rings := []model.Change(nil), map[string]*place.Assignment{}, map[string]*tickets.Ring{}
	for _, change := range view.Since(l.view) {
		var err error
		switch change.Kind {
		case assignmentKind:
			assignments[change.UUID], err = store.Read[place.Assignment](change.Record)
		case ringKind:
			rings[change.UUID], err = store.Read[tickets.Ring](change.Record)
		default:
			if kind := objectOf(change.Kind); kind != "" {
				change = store.Change{Kind: kind, UUID: change.UUID}
				change.Record, _ = view.Get(kind, change.UUID)
			}
			var of model.Change
			of, err = changeOf(view, change)
			changes = append(changes, of)
		}
		if err != nil {
			return fmt.Errorf("%s %s cannot be read: %w", change.Kind, change.UUID, err)
		}
	}
	l.content.before, l.content.rings = l.content.before.Edit(assignments), l.content.rings.Edit(rings)
	l.content.model, l.content.findings = l.keeper.Keep(view.Revision(), changes)
	l.view = view
	return nil
}

// changeOf returns the object with what was fetched about it.
func changeOf(view *store.View, change store.Change) (of model.Change, err error) {
	of = model.Change{Kind: change.Kind, UUID: change.UUID}
	if record := change.Record; record != nil {
		of.Object = withFetched(view, record)
		if record.Kind == timedKind {
			of.Modified = record.Modified
			purges, _ := view.Get(purgeKind, record.UUID)
			of.Purges, err = store.Read[model.Purges](purges)
		}
	}
	return of, err
}

// timedKind is the kind whose objects say for how long something is to be done from when they are written.
const timedKind = "virtualservice"
