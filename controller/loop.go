package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/store"
)

// retryAfter is the time after which the loop tries again to write a decision.
const retryAfter = time.Second

// loop makes a step of reconcile whenever the objects or the engines have changed, and carries out its output.
type loop struct {
	objects    *store.Store
	fleet      *fleet.Fleet
	link       *link.Server
	keeper     *cloud.Keeper
	events     *events.Log
	log        *slog.Logger
	reconciler reconcile.Reconciler

	reader *reader

	view *store.View // that read was made from
	read content

	claims      claims
	limitSecret []byte
}

// run goes on until ctx or the store ends.
func (l *loop) run(ctx context.Context) error {
	views := l.objects.Changes(ctx)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case _, open := <-views:
			if !open {
				return nil
			}
		case <-l.fleet.Moved():
		case <-alarm.C:
		}
		again, err := l.step(ctx)
		if err != nil {
			return err
		}
		if !again.IsZero() {
			alarm.Reset(time.Until(again))
		}
	}
}

// step makes one step. It sends Plans before it writes: a write can take long, and fails if the disk is full. What it
// writes comes back as a view, and the next step starts from that view.
func (l *loop) step(ctx context.Context) (again time.Time, err error) {
	if err := l.look(l.objects.View()); err != nil {
		return again, err
	}
	known := l.fleet.Greetings() // sessions so far; read before Facts, so that Facts knows all of them
	out := l.reconciler.Step(l.input())
	for _, event := range out.Engines {
		l.events.Add(events.Engine{UUID: event.Engine.UUID, Name: event.Engine.Name}.Entry(event.ID, event.Message))
	}
	l.keeper.Observe(out.Observation)
	if out.State != nil {
		l.fleet.Observe(*out.State)
	}
	l.link.Publish(out.Plans, known)
	if out.Write == nil {
		return out.Again, nil
	}
	if err := l.write(ctx, *out.Write); err != nil {
		l.log.Error("the decisions about virtual services cannot be stored; the controller decides again",
			"reason", err)
		return time.Now().Add(retryAfter), nil
	}
	return out.Again, nil
}

// look reads a view. It adds the events of writes that failed, and that the view shows as stored.
func (l *loop) look(view *store.View) (err error) {
	if view == l.view {
		return nil
	}
	before := l.view
	l.view = view
	if l.read, err = l.reader.read(view); err != nil {
		return err
	}
	for _, event := range l.claims.decided(before, view, l.read.before) {
		l.events.Add(entryOf(event))
	}
	return nil
}

func (l *loop) input() reconcile.Input {
	return reconcile.Input{
		Input: place.Input{
			Model: l.read.model, Engines: l.fleet.Facts(), Before: l.read.before, Began: l.fleet.Began(),
			Now: time.Now().UTC(),
		},
		Findings: l.read.findings, Rings: l.read.rings, Usage: l.fleet.Usage, Secret: newSecret,
		LimitSecret: l.limitSecret,
	}
}

// write writes the decisions of a step. It adds the events of those virtual services whose assignments it could write.
func (l *loop) write(ctx context.Context, w reconcile.Write) error {
	written, err := settle(ctx, l.objects, l.view, w.Changed, w.Gone)
	for _, event := range w.Events {
		if written[event.VirtualService.UUID] {
			l.events.Add(entryOf(event))
		}
	}
	maps.DeleteFunc(l.claims, func(uuid string, _ []claim) bool { return written[uuid] })
	if errors.Is(err, store.ErrUncertain) {
		l.claims.add(w, written)
	}
	return errors.Join(err, keepRings(ctx, l.objects, l.view, w.Rings))
}

func entryOf(event place.Event) events.Entry {
	vs := event.VirtualService
	return events.Entry{
		ID: event.ID, Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name, Message: event.Message,
		Tenant: vs.Tenant(), Related: []string{event.Engine},
	}
}
