package plan

import (
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Demand is what must be up for a virtual service to be up.
type Demand struct {
	Service    string  // uuid
	Pools      []*Pool // that serve its clients, one of them is enough; nil: it needs none
	MinPoolsUp int     // how many of Counted must have servers enough; 0: none
	Counted    []*Pool
}

// IsUp tells whether a virtual service can serve its clients, with these servers.
func (d *Demand) IsUp(up map[Member]bool) bool {
	isUp := func(pool *Pool) bool { return pool.isUp(up) }
	if d.Pools != nil && !slices.ContainsFunc(d.Pools, isUp) {
		return false
	}
	count := 0
	for _, pool := range d.Counted {
		if isUp(pool) {
			count++
		}
	}
	return count >= d.MinPoolsUp
}

// isUp tells whether a pool has servers enough that are up.
func (p *Pool) isUp(up map[Member]bool) bool {
	count := 0
	for _, each := range p.Servers {
		if each.Enabled && up[Member{Pool: p.UUID, Server: each.ID}] {
			count++
		}
	}
	return count >= p.MinServers
}

// Conditional is where a virtual service listens only while it is up.
type Conditional struct {
	Demand
	Listeners []Listener
}

// demand parses what must be up for a virtual service.
func (r *reader) demand(service *dataplanev1.VirtualService, minPoolsUp uint32, counted []string) Demand {
	read := Demand{Service: service.GetUuid(), Pools: r.poolsOf(service), MinPoolsUp: int(minPoolsUp)}
	for _, uuid := range counted {
		read.Counted = append(read.Counted, r.poolOf(uuid))
	}
	return read
}

// allConditionals parses the conditions of listeners that are not shared, and those of a virtual service or pool that
// differs.
func (r *reader) allConditionals() {
	for at := range r.plan.parts {
		if known := r.plan.parts[at].conditional; known != nil && r.isAboutFresh(&known.Demand) {
			r.plan.parts[at].conditional = r.conditional(at)
		}
	}
	for _, at := range r.unread {
		r.plan.parts[at].conditional = r.conditional(at)
	}
}

// conditional is where and while what a virtual service listens; nil: it always does, or it is none.
func (r *reader) conditional(at int) *Conditional {
	service, listeners := r.plan.resource(at).GetVirtualService(), r.plan.parts[at].listeners
	while := service.GetListenWhileUp()
	if while == nil || len(listeners) == 0 {
		return nil
	}
	return &Conditional{r.demand(service, while.GetMinPoolsUp(), while.GetCountedPoolUuids()), listeners}
}
