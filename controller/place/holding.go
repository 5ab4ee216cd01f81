package place

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/sorted"
)

// Holding is what an engine has said of one virtual service.
type Holding struct {
	VirtualService string    // uuid
	Delivery       Delivery  // of what it shall have
	Duty           Duty      // by the Plan that it acknowledged last
	Since          time.Time // of Duty
	Clients        Clients   // by that duty
}

// Delivery says how far the engine has got what the Plan that it shall have says of a virtual service.
type Delivery int

const (
	NotDue   Delivery = iota // it is not in that Plan
	Turning                  // a Plan with another duty may be on its way
	Outdated                 // the engine has it otherwise, or not at all, and to the same duty
	Current                  // the engine has it as it is in that Plan
)

// isDue tells whether the virtual service is in the Plan that the engine shall have.
func (d Delivery) isDue() bool { return d != NotDue }

// Clients says whether clients come, or still do.
type Clients int

const (
	Unled Clients = iota // routes lead none to the engine; or it drains, and somebody is connected
	Led                  // it announces the routes that lead clients there, or needs none
	Idle                 // it drains, and no client has been connected for a while
)

// and is what an engine has said of two virtual services that go together: as much as it has said of each.
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

// Holdings are what an engine has said of virtual services, in the order of their uuids. They never change: what it
// says anew is another pointer in another list.
type Holdings []*Holding

// Of is what it has said of one; empty: nothing.
func (all Holdings) Of(virtualServiceUUID string) Holding {
	if found := sorted.Find(all, virtualServiceUUID, (*Holding).key); found != nil {
		return *found
	}
	return Holding{}
}

// With are the holdings after it has said something else of some.
func (all Holdings) With(said ...Holding) Holdings {
	edits := make(map[string]*Holding, len(said))
	for _, holding := range said {
		edits[holding.VirtualService] = &holding
	}
	return all.Edit(edits)
}

// Edit is With by uuid; nil: there is nothing to say of it.
func (all Holdings) Edit(edits map[string]*Holding) Holdings {
	return sorted.Edit(all, edits, (*Holding).key)
}

// changed are the virtual services of which an engine says something else.
func (all Holdings) changed(after Holdings) (uuids []string) {
	for was, is := range sorted.Differences(all, after, (*Holding).key) {
		switch {
		case was == nil:
			uuids = append(uuids, is.VirtualService)
		case is == nil || *was != *is:
			uuids = append(uuids, was.VirtualService)
		}
	}
	return slices.Clip(uuids)
}
