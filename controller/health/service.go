package health

import (
	"fmt"
	"slices"
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
// has one, is up, or one of its group, or the backup of these; and if min_pools_up of its pools are. Otherwise the
// pools that its rules choose are a part of it only: it says which of them are not up.
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
	lost, serves := facts.ownPools(vs)
	if !serves {
		return status(Down, lost...)
	}
	if few := facts.tooFewPools(vs); few != nil {
		return status(Down, few...)
	}
	return status(Up, append(append(facts.tooFew(), lost...),
		facts.lost(vs.RulePools(), ", which rules choose,")...)...)
}

// ownPools says which of its own pools are not up, and whether clients are served all the same.
func (f ServiceFacts) ownPools(vs *model.VirtualService) (lost []string, serves bool) {
	if vs.Pool == nil && vs.PoolGroup == nil {
		return nil, true
	}
	own := vs.OwnPools()
	if vs.Pool != nil {
		if pool := f.Pool(vs.Pool); pool.State != Up {
			lost = append([]string{fmt.Sprintf("pool %s is not up", vs.Pool.Name)}, pool.Reasons...)
		}
	} else if lost = f.lost(own, fmt.Sprintf(" of pool group %s", vs.PoolGroup.Name)); len(own) == 0 {
		lost = []string{fmt.Sprintf("pool group %s has no pool", vs.PoolGroup.Name)}
	}
	isUp := func(pool *model.Pool) bool { return f.Pool(pool).State == Up }
	if slices.ContainsFunc(own, isUp) {
		return lost, true
	}
	for _, backup := range vs.OwnBackups() {
		if isUp(backup) {
			return append(lost, fmt.Sprintf("backup pool %s serves", backup.Name)), true
		}
	}
	return lost, false
}

// tooFewPools says why fewer of its pools are up than min_pools_up; nil: enough are.
func (f ServiceFacts) tooFewPools(vs *model.VirtualService) []string {
	if vs.MinPoolsUp == 0 {
		return nil
	}
	pools := vs.CountedPools()
	lost := f.lost(pools, "")
	if up := len(pools) - len(lost); up < int(vs.MinPoolsUp) {
		return append([]string{fmt.Sprintf("%d of %d pools up, and min_pools_up is %d", up, len(pools), vs.MinPoolsUp)},
			lost...)
	}
	return nil
}

// lost says which pools are not up.
func (f ServiceFacts) lost(pools []*model.Pool, which string) (reasons []string) {
	for _, pool := range pools {
		if is := f.Pool(pool); is.State != Up {
			reasons = append(reasons, strings.Join(append(
				[]string{fmt.Sprintf("pool %s%s is not up", pool.Name, which)}, is.Reasons...), "; "))
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
