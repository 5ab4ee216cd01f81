package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
)

const (
	changeEvery = 20 * time.Millisecond
	// changePatience is how long an engine may take to acknowledge a change. A slower change has failed.
	changePatience = 60 * time.Second
)

// nextChange says which virtual service is to get which name.
func (s *stage) nextChange() (*service, string) {
	index := spread(s.changes, s.size)
	s.changes++
	return s.services[index], fmt.Sprintf("%s-change-%d", nameOf(index), s.changes)
}

func (s *stage) rename(ctx context.Context, c *client.Session, to *service, name string) error {
	if err := c.Patch(ctx, "virtualservice", to.uuid, client.Object{"name": name}); err != nil {
		return err
	}
	to.name = name
	return nil
}

// measureChange makes changes at a fixed rate, whatever happens to earlier ones. Each virtual service has a client that
// makes its changes in order. The time of a change counts from when it was due. If the API does not answer in time, the
// engine still shows whether the change was made.
func measureChange(ctx context.Context, s *stage) (Point, error) {
	count := s.Short(100, 500)
	queues, failed := make([]chan *change, clientsCount), make([][]failedCall, clientsCount)
	var changing sync.WaitGroup
	for i, session := range s.clients {
		queues[i] = make(chan *change, count)
		changing.Go(func() {
			for change := range queues[i] {
				if err := s.rename(ctx, session, change.service, change.name); err != nil {
					failed[i] = append(failed[i], failedCall{change.service, err})
				}
			}
		})
	}
	all := s.paceChanges(ctx, count, queues)
	for _, queue := range queues {
		close(queue)
	}
	changing.Wait()
	point := pointOf(acknowledgements(all, time.After(changePatience)))
	s.ledger.forget()
	calls := slices.Concat(failed...)
	if len(calls) > 0 {
		point.Note = fmt.Sprintf("%d calls of the API failed: %v", len(calls), calls[0].err)
	}
	if err := errors.Join(ctx.Err(), s.settled(ctx, s.size)); err != nil {
		return point, err
	}
	return point, s.readNames(ctx, calls)
}

// failedCall is a change that the API did not say yes to.
type failedCall struct {
	service *service
	err     error
}

// readNames asks what virtual services are called by now.
func (s *stage) readNames(ctx context.Context, failed []failedCall) error {
	for _, call := range failed {
		var stored struct {
			Name string `json:"name"`
		}
		if err := s.clients[0].Get(ctx, "virtualservice/"+call.service.uuid, &stored); err != nil {
			return err
		}
		call.service.name = stored.Name
	}
	return nil
}

// paceChanges hands out one change after the other, each when it is due.
func (s *stage) paceChanges(ctx context.Context, count int, queues []chan *change) (all []*change) {
	pace := time.NewTicker(changeEvery)
	defer pace.Stop()
	for begun := time.Now(); len(all) < count; {
		service, name := s.nextChange()
		change := s.ledger.expect(service, name, begun.Add(time.Duration(len(all))*changeEvery))
		all = append(all, change)
		queues[service.index%len(queues)] <- change
		select {
		case <-pace.C:
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// acknowledgements are the times of changes. A change without an acknowledgement within the patience has failed, and
// counts with that time.
func acknowledgements(all []*change, patience <-chan time.Time) (spans []time.Duration, failed int) {
	for _, change := range all {
		select {
		case <-change.done:
		case <-patience:
			patience = over
		}
		select {
		case <-change.done:
			spans = append(spans, change.acked.Sub(change.due))
		default:
			spans, failed = append(spans, changePatience), failed+1
		}
	}
	return spans, failed
}

// over is patience that has ended.
var over = func() <-chan time.Time {
	ended := make(chan time.Time)
	close(ended)
	return ended
}()

const (
	costSpan = 60 * time.Second // ends the row when changes take long
	idleSpan = 3 * time.Second
)

// measureCPU makes each change after the one before was acknowledged, so that the controller cannot combine two. It
// subtracts the CPU time that the controller uses without changes, to listen to engines.
func measureCPU(ctx context.Context, s *stage) (point Point, err error) {
	idle, err := s.spend(ctx, idleSpan)
	if err != nil {
		return point, err
	}
	before, err := lab.CPUTime(s.controller.PID())
	if err != nil {
		return point, err
	}
	begun := time.Now()
	for point.Count = 0; point.Count < s.Short(30, 200) && time.Since(begun) < costSpan; point.Count++ {
		service, name := s.nextChange()
		change := s.ledger.expect(service, name, time.Now())
		if err := s.rename(ctx, s.clients[0], change.service, change.name); err != nil {
			return point, err
		}
		select {
		case <-change.done:
		case <-time.After(changePatience):
			return point, fmt.Errorf("a change is not acknowledged within %v", changePatience)
		case <-ctx.Done():
			return point, ctx.Err()
		}
	}
	after, err := lab.CPUTime(s.controller.PID())
	if err != nil {
		return point, err
	}
	used := after - before - time.Duration(idle*float64(time.Since(begun)))
	point.Value = milliseconds(used / time.Duration(point.Count))
	point.Note = fmt.Sprintf("mean of %d changes; without any the controller uses %.1f %% of a core",
		point.Count, 100*idle)
	return point, nil
}
