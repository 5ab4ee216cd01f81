package health

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// ServiceFacts are what OfService needs. The functions are called only where the status needs their result.
type ServiceFacts struct {
	Assigned int             // number of engines that it is placed on, without standbys
	Serving  int             // number of these engines that answer clients
	Planned  bool            // one of these engines has it in its Plan
	Lack     *place.Unplaced // nil: it is placed on as many engines as it should be

	Pool      func(*model.Pool) Pool // the state of one of its pools
	Findings  func() []string        // why no Plan has it
	NotServed func() []string        // why no engine serves it
}

// OfService returns the state of a virtual service. A virtual service is up if an engine serves it, and its pool, if it
// has one, is up. The pools that its rules choose are a part of it only: it says which of them are not up.
func OfService(vs *model.VirtualService, facts ServiceFacts) Status {
	switch {
	case !vs.Enabled:
		return status(Disabled, "enabled is false")
	case !vs.TrafficEnabled:
		return status(Disabled, "traffic_enabled is false")
	case vs.Parent != nil && !vs.Parent.TakesTraffic():
		return status(Disabled, fmt.Sprintf("its parent %s takes no traffic", vs.Parent.Name))
	case facts.Assigned == 0:
		return status(NoResources, facts.whyUnplaced(vs))
	case !facts.Planned:
		return status(Down, append([]string{"cannot be served as it is configured"}, facts.Findings()...)...)
	case facts.Serving == 0:
		return status(Down, facts.NotServed()...)
	}
	if vs.Pool != nil {
		if pool := facts.Pool(vs.Pool); pool.State != Up {
			return status(Down, append([]string{fmt.Sprintf("pool %s is not up", vs.Pool.Name)}, pool.Reasons...)...)
		}
	}
	return status(Up, append(facts.tooFew(), facts.lostPools(vs)...)...)
}

// lostPools says which pools that rules choose are not up.
func (f ServiceFacts) lostPools(vs *model.VirtualService) (reasons []string) {
	for _, pool := range vs.RulePools() {
		if is := f.Pool(pool); is.State != Up {
			reasons = append(reasons, strings.Join(append(
				[]string{fmt.Sprintf("pool %s, which rules choose, is not up", pool.Name)}, is.Reasons...), "; "))
		}
	}
	return reasons
}

func (f ServiceFacts) whyUnplaced(vs *model.VirtualService) string {
	if f.Lack != nil {
		return f.Lack.Why
	}
	if vs.IsChild() {
		return "its parent is on no engine"
	}
	group := vs.SEGroupRef
	if vs.Group != nil {
		group = vs.Group.Name
	}
	return fmt.Sprintf("group %s has no engine that may serve: let one join", group)
}

// tooFew says why a virtual service that is served is on fewer engines than it should be.
func (f ServiceFacts) tooFew() []string {
	if f.Lack == nil {
		return nil
	}
	return []string{fmt.Sprintf("it is on %d of %d engines: %s", f.Lack.Placed, f.Lack.Wanted, f.Lack.Why)}
}
