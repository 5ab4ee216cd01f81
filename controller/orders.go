package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/sorted"
	"github.com/weir-lb/weir/controller/store"
)

var errUnreadable = &place.Refusal{Problem: "the object cannot be read: see its warnings"}

// orders writes what operators order for one virtual service or for a group. The next step carries the order out.
// Orders are accepted within transactions of the store, one after the other. So they keep a Placer: an order costs what
// has changed since the order before.
type orders struct {
	fleet  *fleet.Fleet
	events *events.Log
	reader *reader

	placer *place.Placer // nil: none yet, or the last use of it panicked
}

// Order accepts an order within a transaction. It returns how many engines should serve from then on. It also returns a
// function that adds the events; call it after the transaction is written. Error: *place.Refusal.
func (o *orders) Order(tx *admit.Tx, virtualServiceUUID string, order place.Order) (engines int,
	tell func(), err error) {
	var happened []place.Event
	err = o.decide(tx, func(placer *place.Placer, in place.Input) ([]place.Assignment, error) {
		vs, err := virtualServiceOf(in.Model, virtualServiceUUID)
		if err != nil {
			return nil, err
		}
		var assignments []place.Assignment
		if assignments, happened, err = placer.Accept(in, vs, order); err == nil {
			engines = place.Wanted(vs, assignments[0])
		}
		return assignments, err
	})
	if err != nil {
		return 0, nil, err
	}
	return engines, func() {
		for _, event := range happened {
			o.events.Add(entryOf(event))
		}
	}, nil
}

// Redistribute makes virtual services of a group change places with their standbys, within a transaction. It returns
// the number of these virtual services. Error: *place.Refusal.
func (o *orders) Redistribute(tx *admit.Tx, groupUUID string) (virtualServices int, err error) {
	err = o.decide(tx, func(placer *place.Placer, in place.Input) ([]place.Assignment, error) {
		group := sorted.Find(in.Model.Groups, groupUUID, (*model.Group).Key)
		if group == nil {
			return nil, errUnreadable
		}
		assignments, err := placer.Redistribute(in, group)
		virtualServices = len(assignments)
		return assignments, err
	})
	return virtualServices, err
}

// decide writes the assignments that a decision changes. The decision is made of what placement depends on, as of the
// transaction.
func (o *orders) decide(tx *admit.Tx, decision func(*place.Placer, place.Input) ([]place.Assignment, error)) error {
	read, err := o.reader.read(tx.View())
	if err != nil {
		return err
	}
	placer := cmp.Or(o.placer, &place.Placer{})
	o.placer = nil
	changed, err := decision(placer, place.Input{Model: read.model, Engines: o.fleet.Facts(), Before: read.before,
		Began: o.fleet.Began(), Now: time.Now().UTC()})
	if o.placer = placer; err != nil {
		return err
	}
	return putAssignments(tx, changed)
}

func virtualServiceOf(m *model.Model, uuid string) (*model.VirtualService, error) {
	vs := sorted.Find(m.VirtualServices, uuid, (*model.VirtualService).Key)
	if vs == nil {
		return nil, errUnreadable
	}
	return vs, nil
}

func putAssignments(tx *admit.Tx, assignments []place.Assignment) error {
	for _, assignment := range assignments {
		record, err := store.RecordOf(assignmentKind, assignment.VirtualService, assignment)
		if err != nil {
			return err
		}
		if err := tx.Keep(record); err != nil {
			return err
		}
	}
	return nil
}

// RotateKeys turns the rings of session tickets of all SSL profiles that clients of a virtual service may have. All
// virtual services with one of the profiles share its ring. RotateKeys returns the uuids of the profiles. Error:
// *place.Refusal.
func (o *orders) RotateKeys(tx *admit.Tx, virtualServiceUUID string) (profiles []string, err error) {
	read, err := o.reader.read(tx.View())
	if err != nil {
		return nil, err
	}
	vs, err := virtualServiceOf(read.model, virtualServiceUUID)
	if err != nil {
		return nil, err
	}
	if vs.SSLProfile == nil {
		return nil, &place.Refusal{Field: "ssl_profile_ref", Problem: fmt.Sprintf(
			"%s has no SSL profile, and no session tickets", vs.Name)}
	}
	for _, profile := range vs.SSLProfiles() {
		ring := read.rings.Of(profile.UUID)
		if ring == nil || slices.Contains(profiles, ring.Profile) {
			continue
		}
		record, err := store.RecordOf(ringKind, ring.Profile, ring.Turn(time.Now(), newSecret()))
		if err != nil {
			return nil, err
		}
		if err = tx.Keep(record); err != nil {
			return nil, err
		}
		profiles = append(profiles, ring.Profile)
	}
	if len(profiles) == 0 {
		return nil, &place.Refusal{Field: "ssl_profile_ref", Problem: fmt.Sprintf(
			"SSL profile %s has no keys of session tickets: it needs enable_ssl_session_reuse and an ssl_session_timeout",
			vs.SSLProfile.Name)}
	}
	return profiles, nil
}
