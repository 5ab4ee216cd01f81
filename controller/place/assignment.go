package place

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/sorted"
)

// Assignment is what is decided about one virtual service. It is kept in the store: a controller that restarts goes on
// from it and moves nothing.
type Assignment struct {
	VirtualService string `json:"uuid"`
	// Requested is how many engines an operator asked for; 0: as few as the group allows.
	Requested int `json:"requested"`
	// Fresh is since when it waits for an engine that has nothing else on it, a new one perhaps; zero: it does not.
	Fresh time.Time `json:"fresh,omitzero"`
	// Seats in order of rank: the first is the primary's.
	Seats   []Seat `json:"seats"`
	Shunned []Shun `json:"shunned,omitempty"`
	// CalledOff is why what was ordered last did not come to be; nil: it did, or may yet.
	CalledOff *Failure `json:"called_off,omitempty"`
}

func (a *Assignment) key() string { return a.VirtualService }

// Assignments are those of all virtual services, in the order of their uuids. They never change: what is decided anew
// is another pointer in another list.
type Assignments []*Assignment

// Of is the assignment of a virtual service; empty when it has none.
func (all Assignments) Of(virtualServiceUUID string) Assignment {
	if found := sorted.Find(all, virtualServiceUUID, (*Assignment).key); found != nil {
		return *found
	}
	return Assignment{}
}

// With are the assignments after some have changed, and others are gone.
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

// Edit is With by uuid; nil: it is gone.
func (all Assignments) Edit(edits map[string]*Assignment) Assignments {
	return sorted.Edit(all, edits, (*Assignment).key)
}

// Differences gives the assignments that are not the same in both, as sorted.Differences does.
func (all Assignments) Differences(after Assignments) iter.Seq2[*Assignment, *Assignment] {
	return sorted.Differences(all, after, (*Assignment).key)
}

// Failure is how an order ended in nothing.
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
	Cause  Cause     `json:"cause"` // why it came, or why it goes
	// NextHop is where routes to the engine lead, as it said last; invalid: it has not said yet.
	NextHop netip.Addr `json:"next_hop,omitzero"`
}

// SeatState says how far a seat has come.
type SeatState string

// A seat comes as Starting or Standby and goes through Draining. Leaving still serves: it drains once enough others do.
const (
	Starting SeatState = "STARTING"
	Serving  SeatState = "SERVING"
	Leaving  SeatState = "LEAVING"
	Draining SeatState = "DRAINING"
	Standby  SeatState = "STANDBY"
)

// Cause is why a seat came or goes.
type Cause string

const (
	New        Cause = "new"        // the virtual service is
	ScaleOut   Cause = "scaleout"   // more engines are wanted
	ScaleIn    Cause = "scalein"    // fewer
	Migrate    Cause = "migrate"    // an operator moves it
	Switchover Cause = "switchover" // active and standby change places
	Failover   Cause = "failover"   // its engine is lost, or another in whose stead it comes
	Disabled   Cause = "disabled"   // its engine may not serve any more, or another's
	Failed     Cause = "failed"     // it did not come to serve
)

// Shun keeps a virtual service from an engine that failed to start it.
type Shun struct {
	Engine string    `json:"engine"`
	Until  time.Time `json:"until"`
}

// Duty is what an engine owes to a virtual service.
type Duty int

const (
	NoDuty Duty = iota
	Serve
	Drain
	StandBy
)

// Duty of the engine of a seat.
func (s Seat) Duty() Duty {
	switch s.State {
	case Draining:
		return Drain
	case Standby:
		return StandBy
	default:
		return Serve
	}
}

// counts tells whether a seat is one of those that a virtual service shall have.
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

// Equal tells whether two assignments say the same.
func (a Assignment) Equal(b Assignment) bool {
	return a.VirtualService == b.VirtualService && a.Requested == b.Requested && a.Fresh.Equal(b.Fresh) &&
		a.CalledOff.equal(b.CalledOff) &&
		slices.EqualFunc(a.Seats, b.Seats, func(x, y Seat) bool {
			return x.Engine == y.Engine && x.State == y.State && x.Cause == y.Cause && x.Since.Equal(y.Since) &&
				x.NextHop == y.NextHop
		}) &&
		slices.EqualFunc(a.Shunned, b.Shunned, func(x, y Shun) bool {
			return x.Engine == y.Engine && x.Until.Equal(y.Until)
		})
}

func (f *Failure) equal(other *Failure) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.Event == other.Event && f.Why == other.Why && f.At.Equal(other.At)
}
