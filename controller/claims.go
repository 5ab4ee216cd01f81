package controller

import (
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/store"
)

// claims has the assignments that may or may not be stored after writes that failed, for example because the disk was
// slow, by virtual service. settle writes an assignment only if its record is as in the view that was decided on. So at
// most one of all attempts on a record is stored, and as soon as the record moves, it is known which one. If an order
// replaces the record again before the loop looks, the events are lost.
type claims map[string][]claim

// claim is an assignment that may be stored, with the events to add if it is.
type claim struct {
	would  place.Assignment
	events []place.Event
}

// claimsMax bounds the claims of one virtual service. The events of later attempts are lost: the store takes the first
// attempts first.
const claimsMax = 8

// add adds what is not written of a write that failed.
func (c claims) add(w reconcile.Write, written map[string]bool) {
	events := map[string][]place.Event{}
	for _, event := range w.Events {
		events[event.VirtualService.UUID] = append(events[event.VirtualService.UUID], event)
	}
	for _, would := range w.Changed {
		uuid := would.VirtualService
		known := slices.ContainsFunc(c[uuid], func(other claim) bool { return other.would.Equal(would) })
		if !written[uuid] && !known && len(events[uuid]) > 0 && len(c[uuid]) < claimsMax {
			c[uuid] = append(c[uuid], claim{would, events[uuid]})
		}
	}
}

// decided removes the claims on records that differ between two views. It returns the events of those that are stored.
func (c claims) decided(before, after *store.View, stored place.Assignments) (happened []place.Event) {
	for _, uuid := range slices.Sorted(maps.Keys(c)) {
		if isAsIn(before, after, assignmentKind, uuid) {
			continue
		}
		for _, claim := range c[uuid] {
			if claim.would.Equal(stored.Of(uuid)) {
				happened = append(happened, claim.events...)
			}
		}
		delete(c, uuid)
	}
	return happened
}
