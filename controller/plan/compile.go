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
	model       *model.Model // nil: none yet
	rings       tickets.Rings
	assignments place.Assignments

	engines    map[string]*model.Engine   // by uuid
	seated     map[string]map[string]bool // by engine uuid: the virtual services with a seat there
	drafts     map[string]*draft          // by virtual service uuid
	assemblies map[string]*assembly       // by engine uuid
}

// NewCompiler returns a Compiler for a first revision.
func NewCompiler(m *model.Model, rings tickets.Rings, assignments place.Assignments) *Compiler {
	c := &Compiler{}
	c.Turn(m, rings, assignments)
	return c
}

// Turn changes to another revision.
func (c *Compiler) Turn(m *model.Model, rings tickets.Rings, assignments place.Assignments) {
	if c.model == nil {
		*c = Compiler{model: &model.Model{}, seated: map[string]map[string]bool{}, drafts: map[string]*draft{},
			assemblies: map[string]*assembly{}}
	}
	stale := c.redraw(m, rings)
	for was, is := range c.assignments.Differences(assignments) {
		stale[c.reseat(was, is)] = true
	}
	for uuid := range stale {
		for _, assignment := range []place.Assignment{c.assignments.Of(uuid), assignments.Of(uuid)} {
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

// redraw deletes the drafts of virtual services that changed, or whose ticket keys did. It returns the uuids of these
// virtual services.
func (c *Compiler) redraw(m *model.Model, rings tickets.Rings) map[string]bool {
	stale := map[string]bool{}
	for was, is := range sorted.Differences(c.model.VirtualServices, m.VirtualServices, (*model.VirtualService).Key) {
		if was == nil {
			was = is
		}
		stale[was.UUID] = true
	}
	if turned := c.rings.Differing(rings); len(turned) > 0 {
		for _, vs := range m.VirtualServices {
			if vs.SSLProfile != nil && turned[vs.SSLProfile.UUID] {
				stale[vs.UUID] = true
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

// shareOf returns what a virtual service adds to the Plan of an engine; nil: nothing.
func (c *Compiler) shareOf(virtualServiceUUID, engineUUID string) *share {
	assignment := c.assignments.Of(virtualServiceUUID)
	at := slices.IndexFunc(assignment.Seats, func(seat place.Seat) bool { return seat.Engine == engineUUID })
	vs := sorted.Find(c.model.VirtualServices, virtualServiceUUID, (*model.VirtualService).Key)
	if at < 0 || vs == nil {
		return nil
	}
	if c.drafts[vs.UUID] == nil {
		c.drafts[vs.UUID] = newDraft(vs, c.rings)
	}
	return newShare(c.drafts[vs.UUID], assignment, assignment.Seats[at])
}
