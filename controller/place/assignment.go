package place

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/sorted"
)

// Assignment is the decision about one virtual service. The store keeps it: a controller that restarts starts from it,
// and moves nothing.
type Assignment struct {
	VirtualService string `json:"uuid"`
	// Requested is the number of engines that an operator asked for; 0: as few as the group allows.
	Requested int `json:"requested"`
	// Fresh is the time since which the virtual service has waited for a fresh engine, which is one with nothing on it,
	// and perhaps a new one; zero: it does not wait.
	Fresh time.Time `json:"fresh,omitzero"`
	// Seats are in order of rank. The first seat is that of the primary.
	Seats   []Seat `json:"seats"`
	Shunned []Shun `json:"shunned,omitempty"`
	// CalledOff is the reason why the last order failed; nil: it has not failed.
	CalledOff *Failure `json:"called_off,omitempty"`
}

func (a *Assignment) key() string { return a.VirtualService }

// Assignments has the assignments of all virtual services, sorted by their uuids. They never change in place: a changed
// assignment gets a new pointer in a new list.
type Assignments []*Assignment

// Of returns the assignment of a virtual service. If there is none, it is empty.
func (all Assignments) Of(virtualServiceUUID string) Assignment {
	if found := sorted.Find(all, virtualServiceUUID, (*Assignment).key); found != nil {
		return *found
	}
	return Assignment{}
}

// With returns the assignments after some have changed, and others are gone.
func (all Assignments) With(changed []Assignment, gone ...string) Assignments {
	edits := make(map[string]*Assignment, len(changed)+len(gone))
	for _, assignment := range changed {
		edits[assignment.VirtualService] = &assignment
	}
	for _, uuid := range gone {
		edits[uuid] = nil
	}
	return all.Edit(edits)
}

// Edit does the same as With, by uuid; nil: the assignment is gone.
func (all Assignments) Edit(edits map[string]*Assignment) Assignments {
	return sorted.Edit(all, edits, (*Assignment).key)
}

// Differences yields the assignments that differ between two lists, as sorted.Differences does.
func (all Assignments) Differences(after Assignments) iter.Seq2[*Assignment, *Assignment] {
	return sorted.Differences(all, after, (*Assignment).key)
}

// Failure says why an order failed.
type Failure struct {
	Event string    `json:"event"` // VS_SCALEOUT_FAILED
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
}

// Seat is the place of a virtual service on one engine.
type Seat struct {
	Engine string    `json:"engine"`
	State  SeatState `json:"state"`
	Since  time.Time `json:"since"` // of State
	Cause  Cause     `json:"cause"` // why the seat was added, or why it is about to go
	// NextHop is the address to which routes to the engine lead, as last reported by the engine; invalid: not reported
	// yet.
	NextHop netip.Addr `json:"next_hop,omitzero"`
}

// SeatState is the state of a seat.
type SeatState string

// A seat begins as Starting or Standby, and ends with Draining. An engine with a Leaving seat still serves, and drains
// once enough other engines serve. If another engine in its network takes over, the seat is Stopped after Draining: it
// ends once the other engine serves, and serves again if that one fails.
const (
	Starting SeatState = "STARTING"
	Serving  SeatState = "SERVING"
	Leaving  SeatState = "LEAVING"
	Draining SeatState = "DRAINING"
	Stopped  SeatState = "STOPPED"
	Standby  SeatState = "STANDBY"
)

// Cause is the reason why a seat is added or goes.
type Cause string

const (
	New        Cause = "new"        // the virtual service is new
	ScaleOut   Cause = "scaleout"   // the virtual service needs more engines
	ScaleIn    Cause = "scalein"    // the virtual service needs fewer engines
	Migrate    Cause = "migrate"    // an operator or rebalancing moves it to another engine
	Switchover Cause = "switchover" // active and standby change places
	Failover   Cause = "failover"   // its engine is lost, or it replaces a seat on a lost engine
	Disabled   Cause = "disabled"   // its engine may not serve any more, or it replaces a seat on such an engine
	Failed     Cause = "failed"     // its engine failed to start it
)

// Shun keeps a virtual service away from an engine that failed to start it.
type Shun struct {
	Engine string    `json:"engine"`
	Until  time.Time `json:"until"`
	// Outages is how often another engine has stopped for this one in vain. It is remembered for a day after Until.
	Outages int `json:"outages,omitempty"`
}

// Duty is what an engine has to do for a virtual service.
type Duty int

const (
	NoDuty Duty = iota
	Serve
	Drain
	StandBy
)

// Duty returns what the engine of a seat has to do.
func (s Seat) Duty() Duty {
	switch s.State {
	case Draining:
		return Drain
	case Standby:
		return StandBy
	case Stopped:
		return NoDuty
	default:
		return Serve
	}
}

// isEnding tells whether the engine of a seat accepts no new clients any more.
func (s Seat) isEnding() bool { return s.State == Draining || s.State == Stopped }

// counts tells whether the virtual service should have this seat. A seat that leaves, ends or stands by does not
// count.
func (s Seat) counts() bool { return s.State == Starting || s.State == Serving }

func (a *Assignment) seat(engine string) *Seat {
	for i := range a.Seats {
		if a.Seats[i].Engine == engine {
			return &a.Seats[i]
		}
	}
	return nil
}

func (a *Assignment) remove(engine string) {
	a.Seats = slices.DeleteFunc(a.Seats, func(s Seat) bool { return s.Engine == engine })
}

func (a Assignment) clone() Assignment {
	a.Seats, a.Shunned = slices.Clone(a.Seats), slices.Clone(a.Shunned)
	return a
}

// Equal tells whether two assignments have the same content.
func (a Assignment) Equal(b Assignment) bool {
	return a.VirtualService == b.VirtualService && a.Requested == b.Requested && a.Fresh.Equal(b.Fresh) &&
		a.CalledOff.equal(b.CalledOff) &&
		slices.EqualFunc(a.Seats, b.Seats, func(x, y Seat) bool {
			return x.Engine == y.Engine && x.State == y.State && x.Cause == y.Cause && x.Since.Equal(y.Since) &&
				x.NextHop == y.NextHop
		}) &&
		slices.EqualFunc(a.Shunned, b.Shunned, func(x, y Shun) bool {
			return x.Engine == y.Engine && x.Until.Equal(y.Until) && x.Outages == y.Outages
		})
}

func (f *Failure) equal(other *Failure) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.Event == other.Event && f.Why == other.Why && f.At.Equal(other.At)
}
