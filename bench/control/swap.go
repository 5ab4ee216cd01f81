package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/ports"
)

const (
	// swapPort differs from the engines' port, because these listen at the same addresses meanwhile.
	swapPort = 8001
	// swapWorkers have a listening socket each for each virtual service. Two workers would need 20,000 descriptors, and
	// many machines allow a process no more than that.
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

// measureSwap gives a separate data plane the Plans of all engines as one Plan. Then it changes one virtual service
// after the other, while clients send requests to one of them.
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
	port, err := ports.Free(addressOf(loaded), swapPort)
	if err != nil {
		return point, err
	}
	swap := &swap{stage: s, engine: alone}
	whole, err := swap.to(ctx, joined(held, port))
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

// swap is a data plane that is given changes as by a controller.
type swap struct {
	*stage
	engine   *engine
	revision uint64 // that it has
}

// often changes virtual services at a pace.
func (s *swap) often(ctx context.Context, count int) (spans []time.Duration, err error) {
	pace := time.NewTicker(swapEvery)
	defer pace.Stop()
	for range count {
		span, err := s.to(ctx, s.engine.holds())
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

// to has a virtual service of these resources have another name and says how long that took. The first time all of them
// are a whole Plan, later the one that changes is a change.
func (s *swap) to(ctx context.Context, held []*enginev1.Resource) (time.Duration, error) {
	service, name := s.nextChange()
	delta := &enginev1.PlanDelta{
		BaseRevision: s.revision, Revision: s.revision + 1, Nonce: "swap", Changed: renamed(held, service.uuid, name),
	}
	if s.revision == 0 {
		delta.Changed = append(held, delta.Changed...)
	}
	change := s.ledger.expect(service, name, time.Now())
	s.engine.Receive(delta)
	select {
	case <-change.done:
		s.revision = delta.Revision
		return change.acked.Sub(change.due), nil
	case <-time.After(swapPatience):
		late := fmt.Errorf("the data plane does not serve by a Plan within %v", swapPatience)
		return 0, errors.Join(late, s.engine.broken())
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// joined are the resources of several engines, by uuid and each once. Listeners are at another port.
func joined(held []*enginev1.Resource, port int) []*enginev1.Resource {
	sorted := slices.SortedStableFunc(slices.Values(held), func(a, b *enginev1.Resource) int {
		return cmp.Compare(a.GetUuid(), b.GetUuid())
	})
	sorted = slices.CompactFunc(sorted, func(a, b *enginev1.Resource) bool { return a.GetUuid() == b.GetUuid() })
	var all []*enginev1.Resource
	for _, resource := range sorted {
		copied := proto.CloneOf(resource)
		for _, listener := range copied.GetVirtualService().GetListeners() {
			listener.Port = uint32(port)
		}
		all = append(all, copied)
	}
	return all
}

// renamed is the virtual service with this uuid, with another name. The resources are left as they are.
func renamed(resources []*enginev1.Resource, uuid, name string) (changed []*enginev1.Resource) {
	for _, resource := range resources {
		if resource.GetUuid() == uuid {
			copied := proto.CloneOf(resource)
			copied.GetVirtualService().Name = name
			changed = append(changed, copied)
		}
	}
	return changed
}
