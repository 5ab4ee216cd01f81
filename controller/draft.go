package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/explain"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/store"
)

// drafts compile what there would be after writes that nobody makes, so that engines can be asked about it. One is made
// at a time: each has a model and Plans of its own.
type drafts struct {
	fleet     *fleet.Fleet
	countries model.Countries
	places    model.Places
	secret    []byte        // of limits
	waiting   chan struct{} // one of each that waits or has its turn, capacity draftsMost
	turn      chan struct{} // capacity 1
}

// draftsMost is how many drafts may be there at once: each keeps the objects that it was asked with.
const draftsMost = 8

func newDrafts(known *fleet.Fleet, data *data, secret []byte) *drafts {
	return &drafts{known, data.countries, data.places, secret, make(chan struct{}, draftsMost), make(chan struct{}, 1)}
}

// enter waits for the turn of a draft, until ctx ends, and returns what ends the turn. It returns explain.ErrBusy if
// too many wait.
func (d *drafts) enter(ctx context.Context) (leave func(), _ error) {
	select {
	case d.waiting <- struct{}{}:
	default:
		return nil, explain.ErrBusy
	}
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn; <-d.waiting }, nil
	case <-ctx.Done():
		<-d.waiting
		return nil, ctx.Err()
	}
}

// of reads the view of a draft as the leader reads those of the store.
func (d *drafts) of(view *store.View) (*explain.Draft, error) {
	read, err := (&reader{countries: d.countries, places: d.places}).read(view)
	if err != nil {
		return nil, err
	}
	has := read.before.With(d.first(read.model, read.before)) // who is asked
	assignments := has.With(unseated(read.model, has))
	compiler := &plan.Compiler{LimitSecret: d.secret}
	compiler.Turn(read.model, read.rings, assignments)
	var found model.Findings
	found.Replace(nil, read.findings)
	return &explain.Draft{
		Model: read.model,
		Engines: func(serviceUUID string) (engines []string) {
			for _, seat := range has.Of(serviceUUID).Seats {
				if duty := seat.Duty(); duty == place.Serve || duty == place.Drain {
					engines = append(engines, seat.Engine)
				}
			}
			return engines
		},
		Change: func(engineUUID string, has *enginev1.Plan) *dataplanev1.PlanChange {
			next, findings := compiler.Compile(engineUUID, has)
			found.Replace(nil, findings)
			return plan.Drafted(has, next)
		},
		Findings: found.List,
	}, nil
}

// unseated takes their seats from virtual services that would not be served where they are: an operator wants no
// traffic, or another group.
func unseated(m *model.Model, has place.Assignments) (changed []place.Assignment) {
	for _, vs := range m.VirtualServices {
		assignment := has.Of(vs.UUID)
		stays := slices.DeleteFunc(slices.Clone(assignment.Seats), func(seat place.Seat) bool {
			return !vs.TakesTraffic() || vs.Group == nil || model.ByUUID(vs.Group.Engines, seat.Engine) == nil
		})
		if len(stays) < len(assignment.Seats) {
			assignment.Seats = stays
			changed = append(changed, assignment)
		}
	}
	return changed
}

// first gives virtual services that no engine serves yet a seat on one engine of their group, so that it can be asked.
func (d *drafts) first(m *model.Model, before place.Assignments) (seated []place.Assignment) {
	for _, vs := range m.VirtualServices {
		if vs.IsChild() || vs.Group == nil || len(before.Of(vs.UUID).Seats) > 0 {
			continue
		}
		if engine := d.ready(vs.Group); engine != "" {
			seat := place.Seat{Engine: engine, State: place.Serving, Since: time.Now(), Cause: place.New}
			seated = append(seated, place.Assignment{VirtualService: vs.UUID, Seats: []place.Seat{seat}})
		}
	}
	return seated
}

// ready is the first engine of a group by name that has its newest Plan; empty: there is none.
func (d *drafts) ready(group *model.Group) (engineUUID string) {
	engines := slices.SortedFunc(slices.Values(group.Engines), func(a, b *model.Engine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	d.fleet.Read(func(known *fleet.Known) {
		for _, each := range engines {
			engine := known.Engine(each.UUID)
			if engineUUID == "" && engine.IsConnected() && engine.HasNewest() {
				engineUUID = each.UUID
			}
		}
	})
	return engineUUID
}
