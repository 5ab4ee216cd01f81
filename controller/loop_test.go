package controller

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
)

func TestEventOfAWriteThatFailedIsToldOnceItTurnsOutToBeStored(t *testing.T) {
	objects := emptyStore(t)
	l := &loop{objects: objects, reader: &reader{}, events: events.New(slog.New(slog.DiscardHandler), time.Now)}
	must(t, l.look(objects.View()))
	decided := func(uuid string) place.Assignment {
		seat := place.Seat{Engine: "se-1", State: place.Serving, Since: time.Now(), Cause: place.Migrate}
		return place.Assignment{VirtualService: uuid, Seats: []place.Seat{seat}}
	}
	write := reconcile.Write{Changed: []place.Assignment{decided("vs-stored"), decided("vs-lost")}}
	for _, assignment := range write.Changed {
		vs := &model.VirtualService{}
		vs.UUID = assignment.VirtualService
		write.Events = append(write.Events, place.Event{ID: "VS_MIGRATE_COMPLETE", VirtualService: vs})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // the write fails for the loop
	if err := l.write(ended, write); err == nil {
		t.Fatal("the write succeeded")
	}
	_, err := settle(t.Context(), objects, l.view, write.Changed[:1], nil) // but the store has taken a part of it
	must(t, err)
	for range 2 {
		must(t, l.look(objects.View()))
		l.tellUntold()
		if told := l.events.Entries(); len(told) != 1 || told[0].UUID != "vs-stored" {
			t.Fatalf("told are %v", told)
		}
	}
}

func TestEventOfAFailedWriteWaitsForANewerView(t *testing.T) {
	objects := emptyStore(t)
	l := &loop{objects: objects, reader: &reader{}, events: events.New(slog.New(slog.DiscardHandler), time.Now)}
	must(t, l.look(objects.View()))
	vs := &model.VirtualService{}
	vs.UUID = "vs-1"
	began := time.Now()
	decided := func(after time.Duration) reconcile.Write {
		seat := place.Seat{Engine: "se-1", State: place.Serving, Since: began.Add(after), Cause: place.Migrate}
		return reconcile.Write{
			Changed: []place.Assignment{{VirtualService: "vs-1", Seats: []place.Seat{seat}}},
			Events:  []place.Event{{ID: "VS_MIGRATE_COMPLETE", VirtualService: vs}},
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, after := range []time.Duration{0, time.Second, 0} { // steps on the old view
		l.tellUntold()
		if err := l.write(ended, decided(after)); err == nil {
			t.Fatal("the write succeeded")
		}
	}
	if len(l.untold) != 2 {
		t.Errorf("%d events wait, want one of each decision", len(l.untold))
	}
	_, err := settle(t.Context(), objects, l.view, decided(0).Changed, nil) // the store took the first write
	must(t, err)
	must(t, l.look(objects.View()))
	l.tellUntold()
	if told := l.events.Entries(); len(told) != 1 || len(l.untold) != 0 {
		t.Errorf("told are %v, and %d wait", told, len(l.untold))
	}
}

func TestEventOfAFailedWriteIsToldOnceIfTheNextWriteSucceeds(t *testing.T) {
	objects := emptyStore(t)
	l := &loop{objects: objects, reader: &reader{}, events: events.New(slog.New(slog.DiscardHandler), time.Now)}
	must(t, l.look(objects.View()))
	vs := &model.VirtualService{}
	vs.UUID = "vs-1"
	write := reconcile.Write{Changed: []place.Assignment{{VirtualService: "vs-1"}},
		Events: []place.Event{{ID: "VS_REMOVED_SE", VirtualService: vs}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.write(ended, write); err == nil {
		t.Fatal("the write succeeded")
	}
	must(t, l.write(t.Context(), write))
	must(t, l.look(objects.View()))
	l.tellUntold()
	if told := l.events.Entries(); len(told) != 1 {
		t.Errorf("told are %v", told)
	}
}

func TestEventsOfFailedWritesAreBounded(t *testing.T) {
	l := &loop{}
	for n := range untoldMax + 1 {
		l.keep(pending{assignment: place.Assignment{VirtualService: fmt.Sprint("vs-", n)}})
	}
	if len(l.untold) != untoldMax || l.untold[0].assignment.VirtualService != "vs-1" {
		t.Errorf("%d wait, the oldest is of %s", len(l.untold), l.untold[0].assignment.VirtualService)
	}
}
