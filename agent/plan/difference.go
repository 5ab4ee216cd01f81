package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// compare walks through two Plans beside each other, by uuid, and notes each resource with its place in both; -1: it is
// not there. A resource in both may be the very same.
func compare(before, after *Plan, note func(was, is int)) {
	old, new := before.Wire().GetResources(), after.Wire().GetResources()
	was, is := 0, 0
	for was < len(old) && is < len(new) {
		if old[was] == new[is] { // without a look at it: that is most of them
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

// same tells whether two resources say the same. Most often they are one.
func same(a, b *enginev1.Resource) bool { return a == b || proto.Equal(a, b) }

// Difference is what a Plan has other than the one before it.
type Difference struct {
	Change     *dataplanev1.PlanChange // of the data plane's part
	Gone, Come []Listener              // of virtual services that differ: those before, those now
	Members    []Member                // servers of pools that differ, before or now
	Advertises bool                    // what it advertises differs
}

// Since is how this Plan differs from the one before it.
func (p *Plan) Since(before *Plan) Difference {
	d := Difference{Change: &dataplanev1.PlanChange{
		BaseRevision: before.Revision, Removed: new(dataplanev1.Removed),
		Changed: &dataplanev1.Plan{Revision: p.Revision, WorkerPinning: p.pinning},
	}}
	compare(before, p, func(was, is int) {
		if was >= 0 && is >= 0 && same(before.resource(was), p.resource(is)) {
			return
		}
		if was >= 0 {
			d.goes(before.resource(was), &before.parts[was])
		}
		if is >= 0 {
			d.comes(p.resource(is), &p.parts[is])
		}
	})
	return d
}

// goes takes out a resource as it was. What comes in its place is not removed: the data plane goes by what a change
// says of an object.
func (d *Difference) goes(resource *enginev1.Resource, part *part) {
	removed, uuid := d.Change.Removed, resource.GetUuid()
	switch resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		removed.VirtualServices = append(removed.VirtualServices, uuid)
	case *enginev1.Resource_Pool:
		removed.Pools = append(removed.Pools, uuid)
	case *enginev1.Resource_Certificate:
		removed.Certificates = append(removed.Certificates, uuid)
	case *enginev1.Resource_PkiProfile:
		removed.PkiProfiles = append(removed.PkiProfiles, uuid)
	}
	d.Gone = append(d.Gone, part.listeners...)
	d.note(part)
}

func (d *Difference) comes(resource *enginev1.Resource, part *part) {
	addTo(d.Change.Changed, resource)
	d.Come = append(d.Come, part.listeners...)
	d.note(part)
}

func (d *Difference) note(part *part) {
	if part.pool != nil {
		for _, server := range part.pool.Servers {
			d.Members = append(d.Members, Member{part.pool.UUID, server.ID})
		}
	}
	d.Advertises = d.Advertises || part.said != nil
}
