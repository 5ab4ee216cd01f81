package fleet

import (
	"maps"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/sorted"
)

// holdings are the facts about one engine that placement uses, one holding for each virtual service. They are kept
// between two looks, and a look computes only those again that may have changed.
type holdings struct {
	all     place.Holdings
	stale   map[string]bool // virtual services whose holding may have changed
	unknown bool            // any holding may have changed
	open    map[string]bool // virtual services whose newest state the engine has not applied
}

// look brings the holdings up to date and returns them.
func (e *Engine) look() place.Holdings {
	h := &e.holdings
	if h.unknown {
		for _, holding := range h.all {
			h.stale[holding.VirtualService] = true
		}
		for _, uuid := range slices.Concat(slices.Collect(maps.Keys(e.duties)), slices.Collect(maps.Keys(e.noRoom))) {
			h.stale[uuid] = true
		}
		for _, resource := range e.Wanted.GetResources() {
			if service := resource.GetVirtualService(); service != nil {
				h.stale[service.GetUuid()] = true
			}
		}
	}
	edits := map[string]*place.Holding{}
	for uuid := range h.stale {
		now := e.holding(uuid)
		if delete(h.open, uuid); now.Delivery == place.Turning || now.Delivery == place.Outdated {
			h.open[uuid] = true
		}
		switch was := h.all.Of(uuid); {
		case was == now:
		case now != place.Holding{VirtualService: uuid}:
			edits[uuid] = &now
		case was != place.Holding{}:
			edits[uuid] = nil
		}
	}
	clear(h.stale)
	h.all, h.unknown = h.all.Edit(edits), false
	return h.all
}

// holding compares what the engine has of a virtual service with what its newest Plan says.
func (e *Engine) holding(uuid string) place.Holding {
	now := place.Holding{VirtualService: uuid}
	held := e.duties[uuid]
	switch {
	case e.due[uuid] == 0:
		if e.noRoom[uuid] {
			now.Delivery = place.NoRoom
		}
	case held != nil && e.Held.GetRevision() < e.dutyTurnedIn[uuid]:
		now.Delivery = place.Turning
	case held != nil && e.HasApplied(uuid):
		now.Delivery = place.Current
	default:
		now.Delivery = place.Outdated
	}
	if held == nil {
		return now
	}
	now.Duty, now.Since = held.Duty, held.since
	switch {
	case held.Duty == place.Drain && held.idle >= idleSamples:
		now.Clients = place.Idle
	case !held.advertised || e.Announces(uuid):
		now.Clients = place.Led
	}
	return now
}

// lookAt marks a virtual service for the next look.
func (h *holdings) lookAt(uuid string) { h.stale[uuid] = true }

// lookAtOpen marks the virtual services whose newest state the engine may have applied since.
func (h *holdings) lookAtOpen() {
	for uuid := range h.open {
		h.stale[uuid] = true
	}
}

// servicesIn returns the virtual services that differ between two Plans, or whose advertisement differs. before is the
// Plan that delta starts from.
func servicesIn(delta *enginev1.PlanDelta, before *enginev1.Plan) map[string]bool {
	uuids := map[string]bool{}
	add := func(resource *enginev1.Resource) {
		if service := resource.GetVirtualService(); service != nil {
			uuids[service.GetUuid()] = true
		} else if advertisement := resource.GetAdvertisement(); advertisement != nil {
			uuids[advertisement.GetVirtualServiceUuid()] = true
		}
	}
	for _, resource := range delta.GetChanged() {
		add(resource)
	}
	for _, uuid := range delta.GetRemoved() {
		add(resourceIn(before, uuid))
	}
	return uuids
}

func resourceIn(plan *enginev1.Plan, uuid string) *enginev1.Resource {
	return sorted.Find(plan.GetResources(), uuid, (*enginev1.Resource).GetUuid)
}

// serviceIn returns a virtual service of a Plan; nil: the Plan does not have it.
func serviceIn(plan *enginev1.Plan, uuid string) *dataplanev1.VirtualService {
	return resourceIn(plan, uuid).GetVirtualService()
}

func isAdvertisedIn(held *enginev1.Plan, uuid string) bool {
	return resourceIn(held, plan.AdvertisementUUID(uuid)).GetAdvertisement() != nil
}
