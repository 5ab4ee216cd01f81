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
