package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/sorted"
)

var errUnreadable = &place.Refusal{Problem: "the object cannot be read: see its warnings"}

// orders writes what operators order for one virtual service or for a group. The next step carries the order out.
type orders struct {
	fleet  *fleet.Fleet
	events *events.Log
	known  *known
}

// Order accepts an order within a transaction. It returns how many engines should serve from then on. It also returns a
// function that adds the events; call it after the transaction is written. Error: *place.Refusal.
func (o orders) Order(tx *admit.Tx, virtualServiceUUID string, order place.Order) (engines int,
	tell func(), err error) {
	in, err := o.input(tx)
	if err != nil {
		return 0, nil, err
	}
	vs, err := virtualServiceOf(in.Model, virtualServiceUUID)
	if err != nil {
		return 0, nil, err
	}
	assignments, happened, err := order.Accept(in, vs)
	if err == nil {
		err = putAssignments(tx, assignments)
	}
	if err != nil {
		return 0, nil, err
	}
	return place.Wanted(vs, assignments[0]), func() {
		for _, event := range happened {
			o.events.Add(entryOf(event))
		}
	}, nil
}

// Redistribute makes virtual services of a group change places with their standbys, within a transaction. It returns
// the number of these virtual services. Error: *place.Refusal.
func (o orders) Redistribute(tx *admit.Tx, groupUUID string) (virtualServices int, err error) {
	in, err := o.input(tx)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(in.Model.Groups, func(group *model.Group) bool { return group.UUID == groupUUID })
	if at < 0 {
		return 0, errUnreadable
	}
	assignments, err := place.Redistribute(in, in.Model.Groups[at])
	if err != nil {
		return 0, err
	}
	return len(assignments), putAssignments(tx, assignments)
}

// input returns what placement depends on, as of a transaction.
func (o orders) input(tx *admit.Tx) (place.Input, error) {
	read, err := o.known.read(tx.View())
	return place.Input{Model: read.model, Engines: o.fleet.Facts(), Before: read.before, Began: o.fleet.Began(),
		Now: time.Now().UTC()}, err
}

func virtualServiceOf(m *model.Model, uuid string) (*model.VirtualService, error) {
	vs := sorted.Find(m.VirtualServices, uuid, func(vs *model.VirtualService) string { return vs.UUID })
	if vs == nil {
		return nil, errUnreadable
	}
	return vs, nil
}

func putAssignments(tx *admit.Tx, assignments []place.Assignment) error {
	for _, assignment := range assignments {
		record, err := recordOf(assignmentKind, assignment.VirtualService, assignment)
		if err != nil {
			return err
		}
		if err := tx.Keep(record); err != nil {
			return err
		}
	}
	return nil
}

// RotateKeys turns a ring of session tickets before its time. All virtual services with the same SSL profile share the
// ring. RotateKeys returns the uuid of that profile. Error: *place.Refusal.
func (o orders) RotateKeys(tx *admit.Tx, virtualServiceUUID string) (profile string, err error) {
	read, err := o.known.read(tx.View())
	if err != nil {
		return "", err
	}
	vs, err := virtualServiceOf(read.model, virtualServiceUUID)
	if err != nil {
		return "", err
	}
	if vs.SSLProfile == nil {
		return "", &place.Refusal{Field: "ssl_profile_ref", Problem: fmt.Sprintf(
			"%s has no SSL profile, and no session tickets", vs.Name)}
	}
	ring := read.rings.Of(vs.SSLProfile.UUID)
	if ring == nil {
		return "", &place.Refusal{Field: "ssl_profile_ref", Problem: fmt.Sprintf(
			"SSL profile %s has no keys of session tickets: it needs enable_ssl_session_reuse and an ssl_session_timeout", vs.SSLProfile.Name)}
	}
	record, err := recordOf(ringKind, ring.Profile, ring.Turn(time.Now(), newSecret()))
	if err == nil {
		err = tx.Keep(record)
	}
	return ring.Profile, err
}
