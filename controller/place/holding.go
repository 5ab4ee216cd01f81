package place

import (
	"time"

	"github.com/weir-lb/weir/controller/sorted"
)

// Holding is what an engine has reported about one virtual service.
type Holding struct {
	VirtualService string    // uuid
	Delivery       Delivery  // of the newest Plan, as far as it concerns the virtual service
	Duty           Duty      // in the last Plan that the engine acknowledged
	Since          time.Time // of Duty
	Clients        Clients   // with that duty
}

// Delivery says how far the engine has received what the newest Plan says about a virtual service.
type Delivery int

const (
	NotDue   Delivery = iota // the virtual service is not in that Plan
	NoRoom                   // likewise, because that Plan has no room for it
	Turning                  // a Plan with another duty may be on its way
	Outdated                 // the engine has another version with the same duty, or no version
	Current                  // the engine has it as in that Plan
)

// isDue tells whether the virtual service is in the newest Plan for the engine.
func (d Delivery) isDue() bool { return d != NotDue && d != NoRoom }

// Clients says whether clients reach the engine, or are still connected.
type Clients int

const (
	Unled Clients = iota // no routes lead clients to the engine; or it drains and has clients
	Led                  // the engine announces routes for clients, or needs none
	Idle                 // the engine drains, and has had no clients for a while
)

// and combines two virtual services that go together. The result is what the engine has reported of both.
func (h Holding) and(other Holding) Holding {
	if other.Duty != h.Duty {
		h.Duty = NoDuty
	}
	if other.Since.After(h.Since) {
		h.Since = other.Since
	}
	if other.Clients != h.Clients {
		h.Clients = Unled
	}
	switch {
	case h.Delivery == other.Delivery:
	case h.Delivery == Turning || other.Delivery == Turning:
		h.Delivery = Turning
	default:
		h.Delivery = Outdated
	}
	return h
}

func (h *Holding) key() string { return h.VirtualService }

// Holdings has what an engine has reported about virtual services, sorted by their uuids. They never change in place: a
// changed holding gets a new pointer in a new list.
type Holdings []*Holding

// Of returns the holding of a virtual service. If nothing is reported, it is empty.
func (all Holdings) Of(virtualServiceUUID string) Holding {
	if found := sorted.Find(all, virtualServiceUUID, (*Holding).key); found != nil {
		return *found
	}
	return Holding{}
}

// With returns the holdings after the engine has reported something else about some.
func (all Holdings) With(said ...Holding) Holdings {
	edits := make(map[string]*Holding, len(said))
	for _, holding := range said {
		edits[holding.VirtualService] = &holding
	}
	return all.Edit(edits)
}

// Edit does the same as With, by uuid; nil: there is nothing to report any more.
func (all Holdings) Edit(edits map[string]*Holding) Holdings {
	return sorted.Edit(all, edits, (*Holding).key)
}

// changed returns the uuids of virtual services about which the engine reports something else.
func (all Holdings) changed(after Holdings) (uuids []string) {
	for was, is := range sorted.Differences(all, after, (*Holding).key) {
		switch {
		case was == nil:
			uuids = append(uuids, is.VirtualService)
		case is == nil || *was != *is:
			uuids = append(uuids, was.VirtualService)
		}
	}
	return uuids
}
