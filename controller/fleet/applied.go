package fleet

import (
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/plan"
)

// parts returns the uuids of the resources that a virtual service consists of on an engine.
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

// concernsOf returns the uuids of all objects and resources whose findings are findings of the virtual service.
func concernsOf(vs *model.VirtualService) map[string]bool {
	concerns := vs.Concerns()
	concerns[plan.AdvertisementUUID(vs.UUID)] = true
	return concerns
}

// Applied says on which engines the newest configuration of a virtual service is in force.
type Applied struct {
	Revision uint64   // the revision of the newest configuration
	Engines  int      // number of engines that should have it
	Done     int      // number of engines that have it
	Refusing []string // uuids of the engines that refused it
}

// Applied looks at the engines that a virtual service is assigned to.
func (k *Known) Applied(vs *model.VirtualService) Applied {
	assigned := k.Assigned(vs.UUID)
	applied := Applied{Engines: len(assigned)}
	for _, id := range assigned {
		engine := k.engines[id]
		if !engine.isDue(vs.UUID) {
			continue // its Plan lacks the virtual service
		}
		newest, all := engine.newest(parts(vs))
		applied.Revision = max(applied.Revision, newest)
		if all {
			applied.Done++
		} else if engine.Refusal != nil {
			applied.Refusing = append(applied.Refusing, id)
		}
	}
	return applied
}

// newest returns the revision in which one of the resources last changed, and whether the engine has applied all of
// them.
func (e *Engine) newest(uuids []string) (revision uint64, all bool) {
	all = true
	for _, uuid := range uuids {
		if due, wanted := e.due[uuid]; wanted {
			revision = max(revision, due)
			all = all && e.HasApplied(uuid)
		}
	}
	return revision, all
}

// Findings returns the findings of the controller about a virtual service: what it could not compile, and what has no
// effect.
func (k *Known) Findings(vs *model.VirtualService) []model.Finding {
	return k.findingsOf(concernsOf(vs))
}

// findingsOf returns the findings in the order of the state.
func (k *Known) findingsOf(concerns map[string]bool) (own []model.Finding) {
	var positions []int
	found := k.found()
	for uuid := range concerns {
		positions = append(positions, found[uuid]...)
	}
	slices.Sort(positions)
	for _, i := range positions {
		own = append(own, k.state.Findings[i])
	}
	return own
}

// FindingsAbout returns the findings of the engine about a virtual service: what it accepted without effect, and what
// it refused.
func (e *Engine) FindingsAbout(vs *model.VirtualService) []*dataplanev1.Finding {
	if e == nil {
		return nil
	}
	found, concerns := e.Warnings, concernsOf(vs)
	if e.Refusal != nil {
		found = append(found[:len(found):len(found)], e.Refusal.Errors...)
	}
	return concerning(found, concerns)
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
