package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/plan"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
)

const (
	// swapPort is another one than that of engines, which listen at the same addresses meanwhile.
	swapPort = 8001
	// swapWorkers each have a listening socket for each virtual service. The sockets of two would need 20,000
	// descriptors, and that is all that many machines allow a process.
	swapWorkers  = 1
	swapEvery    = 50 * time.Millisecond // clients are served in between
	swapPatience = 60 * time.Second
)

// What clients ask meanwhile.
const (
	loaded          = 0 // index of the virtual service
	loadedKept      = 16
	loadedPerSecond = 500
	loadedPatience  = 5 * time.Second
)

// measureSwap gives a data plane of its own the Plans of all engines as one, and then changes one virtual service after
// the other, while clients ask one of them.
func measureSwap(ctx context.Context, s *stage) (point Point, err error) {
	var held []*enginev1.Resource
	for _, engine := range s.engines {
		held = append(held, engine.holds()...)
	}
	alone, err := startEngine(fmt.Sprintf("swap-%d", s.size), s.dir, s.programs, swapWorkers, s.ledger)
	if err != nil {
		return point, err
	}
	defer alone.endServing()
	port, err := lab.FreePort(addressOf(loaded), swapPort)
	if err != nil {
		return point, err
	}
	swap := &swap{stage: s, engine: alone, plan: joined(held, port)}
	whole, err := swap.to(ctx)
	if err != nil {
		return point, err
	}
	load, err := s.beginLoad(ctx, port)
	if err != nil {
		return point, err
	}
	spans, err := swap.often(ctx, s.Short(20, 200))
	seen, ended := load.End()
	if err := errors.Join(err, ended); err != nil {
		return point, err
	}
	point = pointOf(spans, 0)
	point.Failed = int(seen.ErrorTotal + seen.Missed)
	point.Note = fmt.Sprintf("the first Plan took %.0f ms; of %d requests meanwhile %d failed, p99 %.1f ms",
		milliseconds(whole), seen.Requests, point.Failed, seen.P99us/1000)
	return point, nil
}

// beginLoad has clients ask the first virtual service at the data plane that is measured.
func (s *stage) beginLoad(ctx context.Context, port int) (*lab.RunningLoad, error) {
	url := fmt.Sprintf("http://%s:%d/%s", addressOf(loaded), port, origin.Object)
	return s.lab.BeginLoad(ctx, append(clients.Rate(loadedKept, 0, loadedPerSecond), "--url", url,
		"--timeout", fmt.Sprintf("%dms", loadedPatience.Milliseconds()),
		"--duration", fmt.Sprintf("%dms", pointTimeout.Milliseconds()))...)
}

// swap is a data plane with the Plan that it has.
type swap struct {
	*stage
	engine *engine
	plan   *enginev1.Plan
}

// often changes virtual services at a pace.
func (s *swap) often(ctx context.Context, count int) (spans []time.Duration, err error) {
	pace := time.NewTicker(swapEvery)
	defer pace.Stop()
	for range count {
		span, err := s.to(ctx)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span)
		select {
		case <-pace.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return spans, nil
}

// to swaps to a Plan in which one more virtual service has another name, and says how long that took.
func (s *swap) to(ctx context.Context) (time.Duration, error) {
	service, name := s.nextChange()
	next := renamed(s.plan, service.uuid, name)
	change := s.ledger.expect(service, name, time.Now())
	read, findings := plan.Read(next)
	if read == nil {
		return 0, fmt.Errorf("a Plan cannot be read: %v", findings)
	}
	s.engine.supervisor.Apply(read)
	select {
	case <-change.done:
		s.plan = next
		return change.acked.Sub(change.due), nil
	case <-time.After(swapPatience):
		late := fmt.Errorf("the data plane does not serve by a Plan within %v", swapPatience)
		return 0, errors.Join(late, s.engine.broken())
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// joined is one Plan of the resources of several engines, in the order of a Plan. Listeners are at another port.
func joined(held []*enginev1.Resource, port int) *enginev1.Plan {
	sorted := slices.SortedStableFunc(slices.Values(held), func(a, b *enginev1.Resource) int {
		return cmp.Compare(a.GetUuid(), b.GetUuid())
	})
	sorted = slices.CompactFunc(sorted, func(a, b *enginev1.Resource) bool { return a.GetUuid() == b.GetUuid() })
	plan := &enginev1.Plan{Revision: 1}
	for _, resource := range sorted {
		copied := proto.CloneOf(resource)
		for _, listener := range copied.GetVirtualService().GetListeners() {
			listener.Port = uint32(port)
		}
		plan.Resources = append(plan.Resources, copied)
	}
	return plan
}

// renamed is the Plan that follows one, in which a virtual service has another name. The one before is left as it is.
func renamed(plan *enginev1.Plan, uuid, name string) *enginev1.Plan {
	next := &enginev1.Plan{Revision: plan.GetRevision() + 1, Resources: slices.Clone(plan.GetResources())}
	for i, resource := range next.GetResources() {
		if resource.GetUuid() == uuid {
			next.Resources[i] = proto.CloneOf(resource)
			next.Resources[i].GetVirtualService().Name = name
		}
	}
	return next
}
