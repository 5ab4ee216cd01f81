package fleet

import (
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
)

// parts are the uuids of what a virtual service is made of on an engine.
func parts(vs *model.VirtualService) []string {
	list := []string{vs.UUID, plan.AdvertisementUUID(vs.UUID)}
	for _, certificate := range vs.Certificates {
		list = append(list, certificate.UUID)
	}
	if vs.Pool != nil {
		list = append(list, vs.Pool.UUID)
		for _, monitor := range vs.Pool.HealthMonitors {
			list = append(list, monitor.UUID)
		}
	}
	return list
}

// concernsOf are the uuids of all objects and parts of a Plan whose faults are a virtual service's own.
func concernsOf(vs *model.VirtualService) map[string]bool {
	concerns := vs.Concerns()
	concerns[plan.AdvertisementUUID(vs.UUID)] = true
	return concerns
}

// applied says on how many engines the newest configuration of a virtual service is in force, since which revision it
// is wanted, and which engines refused it.
func (f *Fleet) applied(vs *model.VirtualService, assigned []string) schema.Object {
	var revision uint64
	done := 0
	refusals := []any{}
	for _, id := range assigned {
		engine := f.engines[id]
		if engine == nil || engine.due[vs.UUID] == 0 {
			continue // left out of the Plan
		}
		newest, all := engine.newest(parts(vs))
		revision = max(revision, newest)
		if all {
			done++
		} else if engine.refusal != nil {
			refusals = append(refusals, schema.Object{
				"engine": f.name(id), "revision": int64(engine.refusal.revision),
				"errors": f.shown(engine.refusal.errors, id),
			})
		}
	}
	return schema.Object{
		"revision": int64(revision), "engines_total": int64(len(assigned)), "engines_applied": int64(done),
		"text": fmt.Sprintf("applied on %d of %d engines", done, len(assigned)), "refusals": refusals,
	}
}

// newest is the revision in which one of some resources last changed, and whether all are in force.
func (e *engine) newest(uuids []string) (revision uint64, all bool) {
	all = true
	for _, uuid := range uuids {
		if due, wanted := e.due[uuid]; wanted {
			revision = max(revision, due)
			all = all && e.hasApplied(uuid)
		}
	}
	return revision, all
}

// warnings are all findings about a virtual service: what the controller could not compile, what engines accepted
// without effect, and what they refused.
func (f *Fleet) warnings(vs *model.VirtualService, assigned []string) []any {
	concerns := concernsOf(vs)
	list := []any{}
	for _, finding := range f.state.Findings {
		if concerns[finding.UUID] {
			list = append(list, schema.Object{
				"kind": finding.Kind, "uuid": finding.UUID, "name": finding.Name, "field": finding.Field, "message": finding.Message,
			})
		}
	}
	for _, id := range assigned {
		engine := f.engines[id]
		if engine == nil {
			continue
		}
		found := engine.warnings
		if engine.refusal != nil {
			found = append(found[:len(found):len(found)], engine.refusal.errors...)
		}
		list = append(list, f.shown(concerning(found, concerns), id)...)
	}
	return list
}

func concerning(findings []*dataplanev1.Finding, concerns map[string]bool) []*dataplanev1.Finding {
	var own []*dataplanev1.Finding
	for _, finding := range findings {
		if concerns[finding.GetUuid()] {
			own = append(own, finding)
		}
	}
	return own
}

// shown are findings of an engine, with its name.
func (f *Fleet) shown(findings []*dataplanev1.Finding, engineUUID string) []any {
	list := []any{}
	for _, finding := range findings {
		list = append(list, schema.Object{
			"kind": finding.GetKind(), "uuid": finding.GetUuid(), "name": finding.GetName(), "field": finding.GetField(),
			"message": finding.GetMessage(), "engine": f.name(engineUUID),
		})
	}
	return list
}
