package controller

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/store"
)

func newLoop(t *testing.T, objects *store.Store) *loop {
	t.Helper()
	l := &loop{
		objects: objects, reader: &reader{}, claims: claims{},
		events: events.New(slog.New(slog.DiscardHandler), time.Now),
	}
	must(t, l.look(l.objects.View()))
	return l
}

// decided is a decision about virtual services, with one event for each.
func decided(since time.Duration, uuids ...string) (w reconcile.Write) {
	for _, uuid := range uuids {
		vs := &model.VirtualService{}
		vs.UUID = uuid
		seat := place.Seat{Engine: "se-1", State: place.Serving, Since: time.Unix(0, 0).Add(since),
			Cause: place.Migrate}
		w.Changed = append(w.Changed, place.Assignment{VirtualService: uuid, Seats: []place.Seat{seat}})
		w.Events = append(w.Events, place.Event{ID: "VS_MIGRATE_COMPLETE", VirtualService: vs})
	}
	return w
}

// take makes the store take a write, without an answer to the loop.
func (l *loop) take(t *testing.T, w reconcile.Write) {
	t.Helper()
	_, err := settle(t.Context(), l.objects, l.view, w.Changed, nil)
	must(t, err)
}

func TestEventOfAWriteThatFailedIsToldOnceItTurnsOutToBeStored(t *testing.T) {
	l := newLoop(t, emptyStore(t))
	l.claims.add(decided(0, "vs-stored", "vs-open"), nil)
	l.take(t, decided(0, "vs-stored"))
	for range 2 {
		must(t, l.look(l.objects.View()))
		if told := l.events.Entries(); len(told) != 1 || told[0].UUID != "vs-stored" {
			t.Fatalf("told are %v", told)
		}
	}
	l.take(t, decided(0, "vs-open")) // though a newer view did not have it
	must(t, l.look(l.objects.View()))
	if told := l.events.Entries(); len(told) != 2 || len(l.claims) != 0 {
		t.Errorf("told are %v, and %v wait", told, l.claims)
	}
}

func TestOfAllAttemptsTheEventOfTheStoredOneIsTold(t *testing.T) {
	l := newLoop(t, emptyStore(t))
	for attempt := range time.Duration(claimsMax + 2) {
		for range 2 { // the second time, the decision is the same
			l.claims.add(decided(attempt, "vs-1"), nil)
		}
	}
	l.take(t, decided(0, "vs-1"))
	if waiting := len(l.claims["vs-1"]); waiting != claimsMax {
		t.Errorf("%d attempts wait", waiting)
	}
	must(t, l.look(l.objects.View()))
	if told := l.events.Entries(); len(told) != 1 || len(l.claims) != 0 {
		t.Errorf("told are %v, and %v wait", told, l.claims)
	}
}

func TestEventOfAFailedWriteIsToldOnceIfTheNextWriteSucceeds(t *testing.T) {
	l := newLoop(t, emptyStore(t))
	l.claims.add(decided(0, "vs-1"), nil)
	must(t, l.write(t.Context(), decided(0, "vs-1")))
	must(t, l.look(l.objects.View()))
	if told := l.events.Entries(); len(told) != 1 {
		t.Errorf("told are %v", told)
	}
}

func TestEventOfAnAttemptThatAnOrderOvertookIsNotTold(t *testing.T) {
	l := newLoop(t, emptyStore(t))
	l.claims.add(decided(0, "vs-1"), nil)
	l.take(t, decided(time.Second, "vs-1"))
	must(t, l.look(l.objects.View()))
	if told := l.events.Entries(); len(told) != 0 || len(l.claims) != 0 {
		t.Errorf("told are %v, and %v wait", told, l.claims)
	}
}

func TestOnlyAWriteThatMayBeStoredIsWaitedFor(t *testing.T) {
	objects, end := storeThatEnds(t)
	l := newLoop(t, objects)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.write(ended, decided(0, "vs-1")); err == nil || len(l.claims) != 0 {
		t.Errorf("nobody waits for the write: %v, and %v wait", err, l.claims)
	}
	end()
	if err := l.write(t.Context(), decided(0, "vs-1")); err == nil || len(l.claims) != 1 {
		t.Errorf("the store ends: %v, and %v wait", err, l.claims)
	}
}
