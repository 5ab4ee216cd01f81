package store

import (
	"maps"
	"slices"
)

// Change is an object that one view does not have as another has it.
type Change struct {
	Kind, UUID string
	Record     *Record // nil: it is gone
}

// stagesMax of a view's past are remembered: a reader that comes back after more of them has to compare all objects.
const stagesMax = 256

// stage is how a view was made from the one before. What two views have it in common are the stages up to the last that
// both went through: a stage is made once.
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

// Since gives what makes this view of another one, each object once; that one need not be older. Nil: a view without
// objects. It costs what changed, unless the views have parted long ago.
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

// differing are the records that may not be the same in two views.
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
