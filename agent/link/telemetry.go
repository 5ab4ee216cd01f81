package link

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/agent/state"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/backoff"
)

// Records are the batches of records that the controller does not have.
type Records interface {
	// Rewind begins a stream, and returns what to tell first.
	Rewind() []*enginev1.Standing
	// Next waits for the next batch of this stream.
	Next(context.Context) (*enginev1.RecordBatch, error)
	Took(*enginev1.BatchTaken)
	// Unwanted says that the controller keeps no records.
	Unwanted()
}

// keepTelling sends records for as long as a session lasts, over a connection of its own: they never hold up a session.
// It returns only when ctx ends.
func (l *Link) keepTelling(ctx context.Context) error {
	pause := backoff.Backoff{First: 200 * time.Millisecond, Most: 5 * time.Second}
	for {
		began := time.Now()
		err := l.tell(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		const stable = 10 * time.Second
		if time.Since(began) > stable {
			pause.Reset()
		}
		wait := pause.Next()
		switch status.Code(err) {
		case codes.FailedPrecondition:
			l.Records.Unwanted()
			wait = time.Minute
		case codes.Unimplemented: // the controller is older
			wait = time.Minute
		}
		l.Log.Debug("no stream for records", "reason", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// identity is the present one: its certificate is renewed meanwhile.
func (l *Link) identity() *state.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Identity
}

// tell holds one stream until it breaks, which is always an error.
func (l *Link) tell(ctx context.Context) error {
	connection, err := dial(ctx, l.Address, mutualTLS(l.identity(), l.now))
	if err != nil {
		return err
	}
	defer connection.Close()
	work, ctx := errgroup.WithContext(ctx)
	stream, err := enginev1.NewFleetClient(connection).Telemetry(ctx)
	if err != nil {
		return err
	}
	telling := telling{l.Records, stream, make(chan struct{}, 1)}
	work.Go(func() error { return telling.send(ctx) })
	work.Go(telling.receive)
	return work.Wait()
}

// telling is one stream of records.
type telling struct {
	records Records
	stream  grpc.BidiStreamingClient[enginev1.TelemetryUp, enginev1.TelemetryDown]
	granted chan struct{} // capacity 1
}

func (t telling) send(ctx context.Context) error {
	for _, standing := range t.records.Rewind() {
		if err := t.stream.Send(
			&enginev1.TelemetryUp{Body: &enginev1.TelemetryUp_Standing{Standing: standing}}); err != nil {
			return err
		}
	}
	for {
		batch, err := t.records.Next(ctx)
		if err != nil {
			return err
		}
		if err := t.stream.Send(&enginev1.TelemetryUp{Body: &enginev1.TelemetryUp_Offer{Offer: offerOf(
			batch)}}); err != nil {
			return err
		}
		select {
		case <-t.granted:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := t.stream.Send(&enginev1.TelemetryUp{Body: &enginev1.TelemetryUp_Batch{Batch: batch}}); err != nil {
			return err
		}
	}
}

func offerOf(batch *enginev1.RecordBatch) *enginev1.BatchOffer {
	offer := new(enginev1.BatchOffer)
	for _, part := range batch.GetParts() {
		offer.PackedBytes += part.GetPackedBytes()
		for _, tally := range part.GetTallies() {
			if part.GetLost() == "" {
				offer.Records += uint32(tally.GetRecords())
			} else {
				offer.Records++
			}
		}
	}
	return offer
}

var errUnasked = errors.New("the controller granted what was not offered")

func (t telling) receive() error {
	for {
		down, err := t.stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the controller ended the stream of records")
		}
		if err != nil {
			return err
		}
		switch body := down.GetBody().(type) {
		case *enginev1.TelemetryDown_Grant:
			select {
			case t.granted <- struct{}{}:
			default:
				return errUnasked
			}
		case *enginev1.TelemetryDown_Taken:
			t.records.Took(body.Taken)
		}
	}
}
