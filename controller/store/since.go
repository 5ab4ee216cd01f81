package store

import (
	"maps"
	"slices"
)

// Change is an object that differs between two views.
type Change struct {
	Kind, UUID string
	Record     *Record // nil: the object was deleted
}

// stagesMax is the number of stages that a view remembers. A reader that is further behind has to compare all objects.
const stagesMax = 256

// stage is one step from a view to the next one. Each stage is made once, so two views have the same past up to the
// last stage that both contain.
type stage struct{ written []written }

// written names a record that was put or deleted.
type written struct{ kind, uuid string }

func (v *View) pastWith(changes []change) []*stage {
	made := &stage{make([]written, len(changes))}
	for i, c := range changes {
		made.written[i] = written{c.kind, c.uuid}
	}
	known := v.past[max(0, len(v.past)-stagesMax+1):]
	return append(slices.Clip(known), made)
}

// Since returns the changes from another view to this one, each object once. The other view may be newer; nil is a view
// without objects. The cost grows with the number of changes, unless the views are more than stagesMax stages apart.
func (v *View) Since(former *View) (changed []Change) {
	if former == nil {
		former = emptyView()
	}
	for w := range v.differing(former) {
		was, _ := former.Get(w.kind, w.uuid)
		is, _ := v.Get(w.kind, w.uuid)
		if was != is {
			changed = append(changed, Change{w.kind, w.uuid, is})
		}
	}
	return changed
}

// differing returns the records that may differ between two views.
func (v *View) differing(former *View) map[written]bool {
	differing := map[written]bool{}
	for i, stage := range slices.Backward(v.past) {
		if j := slices.Index(former.past, stage); j >= 0 {
			for _, after := range slices.Concat(v.past[i+1:], former.past[j+1:]) {
				for _, w := range after.written {
					differing[w] = true
				}
			}
			return differing
		}
	}
	for _, view := range []*View{v, former} {
		for kind := range maps.Keys(view.kinds) {
			if v.kinds[kind] == former.kinds[kind] {
				continue
			}
			view.kinds[kind].byUUID.Root().Walk(func(_ []byte, record *Record) (stop bool) {
				differing[written{kind, record.UUID}] = true
				return false
			})
		}
	}
	return differing
}
