package link

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/intake"
)

// batchesMax is the most batches of a stream that were granted and are not taken: one that is being stored, and the
// next one.
const batchesMax = 2

// downMax holds a grant and the answers to all batches.
const downMax = batchesMax + 2

type telemetryStream = grpc.BidiStreamingServer[enginev1.TelemetryUp, enginev1.TelemetryDown]

// Telemetry takes the records of one engine until either side ends the stream.
func (s *Server) Telemetry(stream telemetryStream) error {
	uuid, _, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	if s.intake == nil {
		return status.Error(codes.FailedPrecondition, intake.ErrNoStore.Error())
	}
	ctx, end := context.WithCancelCause(stream.Context())
	defer end(nil)
	defer s.supersede(uuid, end)()
	visit, err := s.intake.Enter(uuid)
	if errors.Is(err, intake.ErrNoStore) {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	if err != nil {
		return err
	}
	defer visit.Leave()
	t := &telemetry{visit: visit, down: make(chan *enginev1.TelemetryDown, downMax),
		granted: make(chan *place, batchesMax), batches: make(chan delivered, batchesMax), held: map[*place]bool{}}
	defer t.leave()
	return statusOf(t.run(ctx, stream))
}

// supersede ends the stream of records that the engine had before. end is called when the next one begins.
func (s *Server) supersede(uuid string, end context.CancelCauseFunc) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former := s.streams[uuid]; former != nil {
		(*former)(errSuperseded)
	}
	mine := &end
	s.streams[uuid] = mine
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.streams[uuid] == mine {
			delete(s.streams, uuid)
		}
	}
}

// telemetry connects a visit with a stream.
type telemetry struct {
	visit   *intake.Visit
	down    chan *enginev1.TelemetryDown
	granted chan *place    // for batches that have not come
	batches chan delivered // that are not stored

	mu   sync.Mutex
	held map[*place]bool // nil: the stream is over
}

// place is credit for one batch.
type place struct{ release func() }

type delivered struct {
	batch *enginev1.RecordBatch
	place *place
}

// hold notes a place, so that the end of the stream gives it back. It returns nil if the stream is over.
func (t *telemetry) hold(release func()) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		release()
		return nil
	}
	held := &place{release}
	t.held[held] = true
	return held
}

func (t *telemetry) free(one *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[one] {
		delete(t.held, one)
		one.release()
	}
}

func (t *telemetry) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for one := range t.held {
		one.release()
	}
	t.held = nil
}

func (t *telemetry) run(ctx context.Context, stream telemetryStream) error {
	work, ctx := errgroup.WithContext(ctx)
	heard := make(chan error, 1)
	go func() { heard <- t.receive(ctx, stream) }() // ends with the stream
	work.Go(func() error {
		select {
		case err := <-heard:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	work.Go(func() error { return t.store(ctx) })
	work.Go(func() error { return t.transmit(ctx, stream) })
	return work.Wait()
}

func (t *telemetry) receive(ctx context.Context, stream telemetryStream) error {
	for {
		up, err := stream.Recv()
		if err != nil {
			return err
		}
		switch body := up.GetBody().(type) {
		case *enginev1.TelemetryUp_Standing:
			t.visit.Stand(body.Standing.GetWorker(), body.Standing.GetEpoch(), body.Standing.GetWaiting())
		case *enginev1.TelemetryUp_Offer:
			err = t.admit(ctx, body.Offer)
		case *enginev1.TelemetryUp_Batch:
			err = t.deliver(ctx, body.Batch)
		}
		if err != nil {
			return err
		}
	}
}

// admit waits until the engine may send what it offers. The engine says nothing else until it is granted.
func (t *telemetry) admit(ctx context.Context, offer *enginev1.BatchOffer) error {
	release, err := t.visit.Admit(ctx, offer.GetPackedBytes(), offer.GetRecords())
	if err != nil {
		return err
	}
	held := t.hold(release)
	select {
	case t.granted <- held:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case t.down <- &enginev1.TelemetryDown{Body: &enginev1.TelemetryDown_Grant{Grant: &enginev1.BatchGrant{}}}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *telemetry) deliver(ctx context.Context, batch *enginev1.RecordBatch) error {
	select {
	case held := <-t.granted:
		select {
		case t.batches <- delivered{batch, held}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		return fmt.Errorf("%w: a batch of records without a grant", ErrProtocol)
	}
}

// store stores batches in their order.
func (t *telemetry) store(ctx context.Context) error {
	for {
		select {
		case next := <-t.batches:
			err := t.visit.Take(ctx, next.batch)
			t.free(next.place)
			if err != nil {
				return err
			}
			taken := &enginev1.BatchTaken{Epoch: next.batch.GetEpoch(), Worker: next.batch.GetWorker(),
				Number: next.batch.GetNumber()}
			select {
			case t.down <- &enginev1.TelemetryDown{Body: &enginev1.TelemetryDown_Taken{Taken: taken}}:
			case <-ctx.Done():
				return ctx.Err()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *telemetry) transmit(ctx context.Context, stream telemetryStream) error {
	for {
		select {
		case down := <-t.down:
			if err := stream.Send(down); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Records has the server take the records of engines.
func (s *Server) Records(into *intake.Intake) { s.intake = into }
