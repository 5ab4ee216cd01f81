// Package plan compiles the Plan of each engine. It is a pure function of the model and the placement, and the stage
// between place and link. Units and names of the API end here. A setting that engines cannot apply yet becomes a
// finding.
//
// compile.go keeps the Plans of all engines up to date, assembly.go makes the Plan of one engine, service.go compiles
// one virtual service. http, l4, tcp, tls, servertls, pool, persistence and monitor convert one object each.
// advertisement makes the routes to a virtual service, bgp the routers that are told of them. settings has what a group
// says about the processes of its engines. unheeded and unheeded_group name the settings without effect. cipherlist
// reads cipher strings. delta is the difference between two Plans.
package plan

import (
	"cmp"
	"maps"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/sorted"
	"github.com/weir-lb/weir/controller/tickets"
)

// Compiler makes the Plans of one revision after another. It keeps the parts of the Plan of each engine. For the next
// revision, it makes new parts only for virtual services that changed or have a new assignment. Resources with the same
// content as before keep their pointers. The zero value has compiled nothing. A Compiler is not safe for concurrent
// use.
type Compiler struct {
	// LimitSecret is what the seeds of hashed keys of limits are derived from. It is set before the first revision.
	LimitSecret []byte

	model       *model.Model // nil: none yet
	rings       tickets.Rings
	assignments place.Assignments

	engines         map[string]*model.Engine   // by uuid
	seated          map[string]map[string]bool // by engine uuid: the virtual services with a seat there
	children        map[string]map[string]bool // uuids, by that of the parent
	drafts          map[string]*draft          // by virtual service uuid
	sets            map[*model.HTTPPolicySet]*compiledSet
	networkPolicies map[*model.NetworkPolicy]*compiledSet
	addressGroups   map[string]*compiledGroup // by uuid
	assemblies      map[string]*assembly      // by engine uuid
	bytesMost       int                       // of the resources in a Plan
}

// Turn changes to another revision.
func (c *Compiler) Turn(m *model.Model, rings tickets.Rings, assignments place.Assignments) {
	if c.model == nil {
		*c = Compiler{LimitSecret: c.LimitSecret, model: &model.Model{}, seated: map[string]map[string]bool{},
			children: map[string]map[string]bool{}, drafts: map[string]*draft{},
			sets:            map[*model.HTTPPolicySet]*compiledSet{},
			networkPolicies: map[*model.NetworkPolicy]*compiledSet{},
			addressGroups:   map[string]*compiledGroup{},
			assemblies:      map[string]*assembly{},
			bytesMost:       cmp.Or(c.bytesMost, bytesMost)}
	}
	stale := c.redraw(m, rings)
	for was, is := range c.assignments.Differences(assignments) {
		uuid := c.reseat(was, is)
		stale[uuid] = true
		maps.Copy(stale, c.children[uuid])
	}
	for uuid := range stale {
		for _, assignment := range []place.Assignment{
			c.assignments.Of(seatsOf(c.model, uuid)), assignments.Of(seatsOf(m, uuid)),
		} {
			for _, seat := range assignment.Seats {
				if assembly := c.assemblies[seat.Engine]; assembly != nil {
					assembly.stale[uuid] = true
				}
			}
		}
	}
	if !sorted.IsOne(c.model.Engines, m.Engines) {
		c.engines = make(map[string]*model.Engine, len(m.Engines))
		for _, engine := range m.Engines {
			c.engines[engine.UUID] = engine
		}
		maps.DeleteFunc(c.assemblies, func(uuid string, _ *assembly) bool { return c.engines[uuid] == nil })
	}
	c.model, c.rings, c.assignments = m, rings, assignments
}

// seatsOf returns the uuid of the virtual service on whose engines this one is served.
func seatsOf(m *model.Model, uuid string) string {
	if vs := sorted.Find(m.VirtualServices, uuid, (*model.VirtualService).Key); vs != nil {
		return vs.SeatsOf()
	}
	return uuid
}

// servedAt returns the virtual services with a seat on an engine, and their children.
func (c *Compiler) servedAt(engineUUID string) map[string]bool {
	all := map[string]bool{}
	for uuid := range c.seated[engineUUID] {
		all[uuid] = true
		maps.Copy(all, c.children[uuid])
	}
	return all
}

// adopt applies a changed virtual service to the lists of children.
func (c *Compiler) adopt(was, is *model.VirtualService) {
	if was != nil && was.IsChild() {
		if delete(c.children[was.SeatsOf()], was.UUID); len(c.children[was.SeatsOf()]) == 0 {
			delete(c.children, was.SeatsOf())
		}
	}
	if is != nil && is.IsChild() {
		if c.children[is.SeatsOf()] == nil {
			c.children[is.SeatsOf()] = map[string]bool{}
		}
		c.children[is.SeatsOf()][is.UUID] = true
	}
}

// redraw deletes the drafts of virtual services that changed, or whose ticket keys did. It returns the uuids of these
// virtual services.
func (c *Compiler) redraw(m *model.Model, rings tickets.Rings) map[string]bool {
	stale, left := map[string]bool{}, map[string]bool{}
	for was, is := range sorted.Differences(c.model.VirtualServices, m.VirtualServices, (*model.VirtualService).Key) {
		c.adopt(was, is)
		if was == nil {
			was = is
		}
		for group := range was.AddressGroups() {
			left[group.UUID] = true
		}
		if is != nil {
			for group := range is.AddressGroups() {
				delete(left, group.UUID)
			}
		}
		for _, set := range was.Policies {
			delete(c.sets, set) // it may have changed; others that use it compile it again
		}
		delete(c.networkPolicies, was.NetworkPolicy)
		stale[was.UUID] = true
	}
	if len(left) > 0 {
		c.forgetUnusedGroups(m)
	}
	for _, uuid := range slices.Collect(maps.Keys(stale)) {
		maps.Copy(stale, c.children[uuid]) // a child depends on its parent
	}
	if turned := c.rings.Differing(rings); len(turned) > 0 {
		for _, vs := range m.VirtualServices {
			for _, profile := range vs.SSLProfiles() {
				if turned[profile.UUID] {
					stale[vs.UUID] = true
				}
			}
		}
	}
	for uuid := range stale {
		delete(c.drafts, uuid)
	}
	return stale
}

// reseat applies a changed assignment. It returns the uuid of the virtual service.
func (c *Compiler) reseat(was, is *place.Assignment) (virtualServiceUUID string) {
	if was != nil {
		virtualServiceUUID = was.VirtualService
		for _, seat := range was.Seats {
			if delete(c.seated[seat.Engine], virtualServiceUUID); len(c.seated[seat.Engine]) == 0 {
				delete(c.seated, seat.Engine)
			}
		}
	}
	if is != nil {
		virtualServiceUUID = is.VirtualService
		for _, seat := range is.Seats {
			if c.seated[seat.Engine] == nil {
				c.seated[seat.Engine] = map[string]bool{}
			}
			c.seated[seat.Engine][virtualServiceUUID] = true
		}
	}
	return virtualServiceUUID
}

// Compile makes the Plan of one engine, with its resources sorted by uuid. before is the last Plan of the engine. If a
// virtual service cannot be served, the Plan lacks it and a finding says why; the Plan has the others. If two virtual
// services want the same port, the one in before keeps it.
func (c *Compiler) Compile(engineUUID string, before *enginev1.Plan) (*enginev1.Plan, []model.Finding) {
	a := c.assemblies[engineUUID]
	if a == nil || !c.update(a, engineUUID) {
		a = c.assemble(engineUUID, before.GetResources())
		c.assemblies[engineUUID] = a
	}
	return &enginev1.Plan{Revision: uint64(c.model.Revision), Resources: a.resources}, a.findings.List()
}

// NoRoom returns the uuids of the virtual services that are not in the newest Plan of an engine, because there is no
// room for them.
func (c *Compiler) NoRoom(engineUUID string) map[string]bool { return c.assemblies[engineUUID].noRoom }

// shareOf returns what a virtual service adds to the Plan of an engine; nil: nothing.
func (c *Compiler) shareOf(virtualServiceUUID, engineUUID string) *share {
	vs := sorted.Find(c.model.VirtualServices, virtualServiceUUID, (*model.VirtualService).Key)
	if vs == nil || vs.IsChild() && !vs.TakesTraffic() {
		return nil
	}
	assignment := c.assignments.Of(vs.SeatsOf())
	at := slices.IndexFunc(assignment.Seats, func(seat place.Seat) bool {
		return seat.Engine == engineUUID && seat.Duty() != place.NoDuty
	})
	if at < 0 {
		return nil
	}
	if c.drafts[vs.UUID] == nil {
		c.drafts[vs.UUID] = c.newDraft(vs)
	}
	return newShare(c.drafts[vs.UUID], assignment, assignment.Seats[at])
}
