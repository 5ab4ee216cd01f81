package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/parts"
)

// compare merges the resources of two Plans by uuid. It calls note with the indexes of each resource in both; -1: that
// Plan does not have it. A resource that is in both may be the same pointer.
func compare(before, after *Plan, note func(was, is int)) {
	old, new := before.Wire().GetResources(), after.Wire().GetResources()
	was, is := 0, 0
	for was < len(old) && is < len(new) {
		if old[was] == new[is] { // most are: they are not even read
			note(was, is)
			was, is = was+1, is+1
			continue
		}
		switch order := byUUID(old[was], new[is]); {
		case order < 0:
			note(was, -1)
			was++
		case order > 0:
			note(-1, is)
			is++
		default:
			note(was, is)
			was, is = was+1, is+1
		}
	}
	for ; was < len(old); was++ {
		note(was, -1)
	}
	for ; is < len(new); is++ {
		note(-1, is)
	}
}

// same tells whether two resources are equal. Most often they are the same pointer.
func same(a, b *enginev1.Resource) bool { return a == b || proto.Equal(a, b) }

// Difference is what differs between a Plan and an earlier one.
type Difference struct {
	Change     *dataplanev1.PlanChange // for the data plane
	Gone, Come []Listener              // old and new listeners of virtual services that differ
	Members    []Member                // old and new servers of pools that differ
}

// Since is the difference between this Plan and an earlier one.
func (p *Plan) Since(before *Plan) Difference {
	d := Difference{Change: &dataplanev1.PlanChange{
		BaseRevision: before.Revision, Removed: new(dataplanev1.Removed),
		Changed: &dataplanev1.Plan{Revision: p.Revision, WorkerPinning: p.pinning},
	}}
	compare(before, p, func(was, is int) {
		switch {
		case is < 0:
			parts.Remove(d.Change.Removed, before.resource(was))
			d.goes(&before.parts[was])
		case was < 0:
			d.comes(p.resource(is), &p.parts[is])
		case !same(before.resource(was), p.resource(is)):
			if !parts.SameKind(before.resource(was), p.resource(is)) {
				parts.Remove(d.Change.Removed, before.resource(was))
			}
			d.goes(&before.parts[was])
			d.comes(p.resource(is), &p.parts[is])
		}
	})
	return d
}

func (d *Difference) goes(part *part) {
	d.Gone = append(d.Gone, part.listeners...)
	d.note(part)
}

func (d *Difference) comes(resource *enginev1.Resource, part *part) {
	parts.Add(d.Change.Changed, resource)
	d.Come = append(d.Come, part.listeners...)
	d.note(part)
}

func (d *Difference) note(part *part) {
	if part.pool != nil {
		for _, server := range part.pool.Servers {
			d.Members = append(d.Members, Member{part.pool.UUID, server.ID})
		}
	}
}
