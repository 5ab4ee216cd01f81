package controller

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/store"
)

// purgeKind is the kind of the records with the purges of virtual services, whose uuids they have. They are next to the
// objects for the same reason as assignments: a Plan follows from one view. The API does not show this kind.
const purgeKind = "cachepurges"

// Purge has engines answer no more with what they have stored of some URIs of a virtual service, or of all if there are
// none. It tells whether all is purged. Error: *place.Refusal.
func (o *orders) Purge(tx *admit.Tx, virtualServiceUUID string, uris []string, prefix bool) (all bool, err error) {
	read, err := o.reader.read(tx.View())
	if err != nil {
		return false, err
	}
	vs, err := virtualServiceOf(read.model, virtualServiceUUID)
	if err != nil {
		return false, err
	}
	// A cache that is turned off keeps what it has for when it is turned on again.
	isOfHTTP := func(part *model.VirtualService) bool { return part.HTTP != nil }
	if !slices.ContainsFunc(vs.Parts(), isOfHTTP) {
		return false, &place.Refusal{Field: "application_profile_ref", Problem: fmt.Sprintf(
			"%s stores no responses: neither its application profile nor that of a port is of HTTP", vs.Name)}
	}
	var purges []model.Purge
	for i, uri := range uris {
		purge, err := model.ParsePurge(uri, prefix)
		if err != nil {
			return false, &place.Refusal{Field: fmt.Sprintf("uris[%d]", i), Problem: err.Error()}
		}
		purges = append(purges, purge)
	}
	next := vs.Purges.With(purges)
	record, err := store.RecordOf(purgeKind, vs.UUID, next)
	if err == nil {
		err = tx.Keep(record)
	}
	return next.URIs == nil, err
}
