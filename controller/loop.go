package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

	untold []pending // of writes that failed; at most untoldMax, the oldest are dropped first
}

// untoldMax bounds what the loop keeps while writes fail again and again.
const untoldMax = 4096

// pending is an event about an assignment. It is added if the assignment turns out to be in the store.
type pending struct {
	event      place.Event
	assignment place.Assignment
	seen       *store.View // newest when the write had failed; each later view shows whether the store has taken it
}

func (p pending) same(other pending) bool {
	return p.event.ID == other.event.ID && p.event.Engine == other.event.Engine && p.seen == other.seen &&
		p.assignment.Equal(other.assignment)
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
	l.tellUntold()
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
		l.log.Error("the decisions about virtual services cannot be stored; the controller decides again", "reason", err)
		return time.Now().Add(retryAfter), nil
	}
	return out.Again, nil
}

func (l *loop) look(view *store.View) (err error) {
	if view != l.view {
		l.view = view
		l.read, err = l.reader.read(view)
	}
	return err
}

func (l *loop) input() reconcile.Input {
	return reconcile.Input{
		Input: place.Input{
			Model: l.read.model, Engines: l.fleet.Facts(), Before: l.read.before, Began: l.fleet.Began(),
			Now: time.Now().UTC(),
		},
		Findings: l.read.findings, Rings: l.read.rings, Usage: l.fleet.Usage, Secret: newSecret,
	}
}

// write writes the decisions of a step. It adds the events of those virtual services whose assignments it could write.
func (l *loop) write(ctx context.Context, w reconcile.Write) error {
	written, err := settle(ctx, l.objects, l.view, w.Changed, w.Gone)
	for _, event := range w.Events {
		if uuid := event.VirtualService.UUID; written[uuid] {
			l.events.Add(entryOf(event))
		} else if err != nil {
			l.keep(pending{event, assignmentIn(w.Changed, uuid), l.objects.View()})
		}
	}
	l.untold = slices.DeleteFunc(l.untold, func(p pending) bool { return written[p.event.VirtualService.UUID] })
	return errors.Join(err, keepRings(ctx, l.objects, l.view, w.Rings))
}

func (l *loop) keep(late pending) {
	if slices.ContainsFunc(l.untold, late.same) {
		return
	}
	l.untold = append(l.untold, late)
	l.untold = slices.Delete(l.untold, 0, max(0, len(l.untold)-untoldMax))
}

func assignmentIn(changed []place.Assignment, uuid string) place.Assignment {
	at := slices.IndexFunc(changed, func(a place.Assignment) bool { return a.VirtualService == uuid })
	if at < 0 {
		return place.Assignment{}
	}
	return changed[at]
}

// tellUntold adds the events of writes that failed after the store had taken them, for example because the disk was
// slow. An event waits while the view is as old as the failed write. If a newer view shows that the store has not taken
// the write, tellUntold drops the event: the next step decides and tells the same again.
func (l *loop) tellUntold() {
	l.untold = slices.DeleteFunc(l.untold, func(late pending) bool {
		uuid := late.event.VirtualService.UUID
		if late.assignment.VirtualService == uuid && l.read.before.Of(uuid).Equal(late.assignment) {
			l.events.Add(entryOf(late.event))
			return true
		}
		return l.view != late.seen
	})
}

func entryOf(event place.Event) events.Entry {
	vs := event.VirtualService
	return events.Entry{
		ID: event.ID, Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name, Message: event.Message,
		Tenant: vs.Tenant(), Related: []string{event.Engine},
	}
}
