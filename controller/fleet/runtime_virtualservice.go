package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// VirtualService is the runtime of a virtual service: its state and why, the engines that serve it, on how many of them
// its newest configuration is in force, what was found wrong, and what it has counted.
func (f *Fleet) VirtualService(uuid string) schema.Object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	vs := f.services[uuid]
	if vs == nil {
		return schema.Object{"oper_status": operStatus("OPER_INITIALIZING", "its configuration is being read")}
	}
	assignment := f.state.Assignments.Of(uuid)
	assigned := f.assigned(uuid)
	serving := f.serving(uuid, assigned)
	status := f.serviceStatus(vs, assigned, serving)
	percent := f.percentUp(uuid)
	engines := f.serviceEngines(uuid, assignment)
	vips := f.vips(vs, assignment, engines, percent)
	runtime := schema.Object{
		"oper_status":        status,
		"percent_ses_up":     percent,
		"service_engine":     engines,
		"vip_runtime":        vips.runtime,
		"vip_summary":        vips.summary,
		"applied":            f.applied(vs, assigned),
		"warnings":           f.warnings(vs, assigned),
		"virtualservice_ref": schema.RefPath("virtualservice", uuid),
	}
	maps.Copy(runtime, f.scaleOf(vs, assignment))
	if counters := f.serviceCounters(uuid); counters != nil {
		runtime["counters"] = counters
	}
	return runtime
}

func operStatus(state string, reasons ...string) schema.Object {
	list := make([]any, len(reasons))
	for i, reason := range reasons {
		list[i] = reason
	}
	return schema.Object{"state": state, "reason": list}
}

// percentUp is how many of the engines that shall serve a virtual service do; one that drains shall not.
func (f *Fleet) percentUp(uuid string) int64 {
	var wanted []string
	for _, seat := range f.state.Assignments.Of(uuid).Seats {
		if seat.State != place.Standby && seat.State != place.Draining {
			wanted = append(wanted, seat.Engine)
		}
	}
	return percentOf(len(f.serving(uuid, wanted)), len(wanted))
}

func percentOf(part, whole int) int64 {
	if whole == 0 {
		return 0
	}
	return int64(100 * part / whole)
}

// assigned are the engines that a virtual service is on, beside one that only stands by.
func (f *Fleet) assigned(uuid string) []string {
	var engines []string
	for _, seat := range f.state.Assignments.Of(uuid).Seats {
		if seat.State != place.Standby {
			engines = append(engines, seat.Engine)
		}
	}
	return engines
}

// serving are those of the assigned engines that answer clients of a virtual service now.
func (f *Fleet) serving(uuid string, assigned []string) []string {
	return slices.DeleteFunc(f.ready(uuid, assigned), func(id string) bool { return f.engines[id].cutOff(f.services[uuid]) != "" })
}

// ready are those of the assigned engines that would answer clients, if routers sent them any.
func (f *Fleet) ready(uuid string, assigned []string) []string {
	var ready []string
	for _, id := range assigned {
		if engine := f.engines[id]; engine != nil && engine.works() && engine.serves(uuid) {
			ready = append(ready, id)
		}
	}
	return ready
}

// serviceStatus: up when an engine serves it and its pool, if it has one, has a server.
func (f *Fleet) serviceStatus(vs *model.VirtualService, assigned, serving []string) schema.Object {
	switch {
	case !vs.Enabled:
		return operStatus("OPER_DISABLED", "enabled is false")
	case !vs.TrafficEnabled:
		return operStatus("OPER_DISABLED", "traffic_enabled is false")
	case len(assigned) == 0:
		return operStatus("OPER_RESOURCES", f.whyUnplaced(vs))
	case !f.planned(vs.UUID, assigned):
		return operStatus("OPER_DOWN", append([]string{"cannot be served as it is configured"}, f.ownFindings(vs)...)...)
	case len(serving) == 0:
		return operStatus("OPER_DOWN", f.whyNotServed(vs.UUID, assigned)...)
	}
	if vs.Pool == nil {
		return operStatus("OPER_UP", f.tooFew(vs)...)
	}
	if pool := f.poolState(vs.Pool); pool.state != "OPER_UP" {
		return operStatus("OPER_DOWN", append([]string{fmt.Sprintf("pool %s is not up", vs.Pool.Name)}, pool.reasons...)...)
	}
	return operStatus("OPER_UP", f.tooFew(vs)...)
}

// tooFew says why a virtual service that is served is on fewer engines than it shall be on; nothing where it is not.
func (f *Fleet) tooFew(vs *model.VirtualService) []string {
	if lack := f.lackOf(vs); lack != nil {
		return []string{fmt.Sprintf("it is on %d of %d engines: %s", lack.Placed, lack.Wanted, lack.Why)}
	}
	return nil
}

// whyUnplaced is why a virtual service is on no engine.
func (f *Fleet) whyUnplaced(vs *model.VirtualService) string {
	if lack := f.lackOf(vs); lack != nil {
		return lack.Why
	}
	return fmt.Sprintf("group %s has no engine that may serve: let one join", groupName(vs))
}

func (f *Fleet) lackOf(vs *model.VirtualService) *place.Unplaced {
	for i := range f.state.Unplaced {
		if f.state.Unplaced[i].VirtualService == vs.UUID {
			return &f.state.Unplaced[i]
		}
	}
	return nil
}

func groupName(vs *model.VirtualService) string {
	if vs.Group == nil {
		return vs.SEGroupRef
	}
	return vs.Group.Name
}

// planned tells whether the virtual service is in the Plan of an engine; if not, it was left out for a finding.
func (f *Fleet) planned(uuid string, assigned []string) bool {
	for _, id := range assigned {
		if engine := f.engines[id]; engine != nil && engine.due[uuid] != 0 {
			return true
		}
	}
	return false
}

func (f *Fleet) ownFindings(vs *model.VirtualService) []string {
	concerns := concernsOf(vs)
	var texts []string
	for _, finding := range f.state.Findings {
		if concerns[finding.UUID] {
			texts = append(texts, fmt.Sprintf("%s %s: %s: %s", finding.Kind, finding.Name, finding.Field, finding.Message))
		}
	}
	return texts
}

func (f *Fleet) whyNotServed(uuid string, assigned []string) []string {
	var reasons []string
	for _, id := range assigned {
		reasons = append(reasons, fmt.Sprintf("engine %s %s", f.name(id), f.engines[id].whyNot(f.services[uuid])))
	}
	return reasons
}

func (e *engine) whyNot(vs *model.VirtualService) string {
	switch {
	case e == nil:
		return "has not connected yet"
	case !e.connected:
		return "is not connected: " + e.reason
	case !e.works():
		return strings.TrimSuffix("has a data plane that is "+dataplaneState(e.status)+": "+e.status.GetReason(), ": ")
	case e.refusal != nil:
		return e.refusal.String()
	case e.cutOff(vs) != "":
		return e.cutOff(vs)
	default:
		return "is applying the configuration"
	}
}
