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
	for _, pool := range vs.Pools() {
		list = append(list, pool.UUID)
		for _, monitor := range pool.HealthMonitors {
			list = append(list, monitor.UUID)
		}
	}
	if vs.ErrorPages != nil {
		list = append(list, vs.ErrorPages.UUID)
	}
	for _, group := range vs.Groups() {
		list = append(list, group.UUID)
	}
	for _, set := range vs.Policies {
		list = append(list, set.UUID)
		for _, group := range set.StringGroups {
			list = append(list, group.UUID)
		}
		for _, group := range set.AddressGroups {
			list = append(list, group.UUID)
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
		newest, all := engine.newestOf(vs)
		applied.Revision = max(applied.Revision, newest)
		if all {
			applied.Done++
		} else if engine.isDue(vs.UUID) && engine.Refusal != nil {
			applied.Refusing = append(applied.Refusing, id)
		}
	}
	return applied
}

// Revision is the revision of the store that the controller has made Plans of last.
func (k *Known) Revision() int64 { return k.model.Revision }

// AppliedBeside says on which engines the newest configuration of all virtual services that consist of an object is in
// force. A virtual service consists of itself, too.
func (k *Known) AppliedBeside(uuid string) (applied Applied, virtualServices int) {
	done, refusing := map[string]bool{}, map[string]bool{}
	for _, vs := range k.services {
		if !vs.Concerns()[uuid] {
			continue
		}
		virtualServices++
		for _, id := range k.Assigned(vs.UUID) {
			engine := k.engines[id]
			newest, all := engine.newestOf(vs)
			applied.Revision = max(applied.Revision, newest)
			earlier, seen := done[id]
			done[id] = all && (earlier || !seen)
			refusing[id] = refusing[id] || !all && engine != nil && engine.Refusal != nil
		}
	}
	applied.count(done, refusing)
	return applied, virtualServices
}

// AppliedSince says which of the engines whose Plans have changed since a revision have applied their newest one.
func (k *Known) AppliedSince(revision int64) (applied Applied) {
	done, refusing := map[string]bool{}, map[string]bool{}
	for id, engine := range k.engines {
		if wanted := engine.Wanted.GetRevision(); int64(wanted) >= revision {
			applied.Revision = max(applied.Revision, wanted)
			done[id] = engine.HasNewest()
			refusing[id] = !done[id] && engine.Refusal != nil
		}
	}
	applied.count(done, refusing)
	return applied
}

func (a *Applied) count(done, refusing map[string]bool) {
	a.Engines = len(done)
	for id, all := range done {
		if all {
			a.Done++
		}
		if refusing[id] {
			a.Refusing = append(a.Refusing, id)
		}
	}
	slices.Sort(a.Refusing)
}

// newestOf does what newest does, for a virtual service. False: the Plan lacks it, too.
func (e *Engine) newestOf(vs *model.VirtualService) (revision uint64, all bool) {
	if !e.isDue(vs.UUID) {
		return 0, false
	}
	return e.newest(parts(vs))
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
