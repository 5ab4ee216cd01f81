package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// shelf is a record store that remembers what it was given.
type shelf struct {
	errors  []error // of the next calls
	origins []wire.Origin
	rows    []wire.Row
}

func (s *shelf) Store(_ context.Context, origin wire.Origin, rows []wire.Row) (logs.Ack, error) {
	if len(s.errors) > 0 {
		err := s.errors[0]
		s.errors = s.errors[1:]
		return logs.Ack{}, err
	}
	s.origins, s.rows = append(s.origins, origin), append(s.rows, rows...)
	return logs.Ack{}, nil
}

func visit(t *testing.T, store *shelf) *Visit {
	t.Helper()
	entered, err := New(store, book{}, slog.New(slog.DiscardHandler), time.Now).Enter("se-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(entered.Leave)
	return entered
}

func waitingFor(service string, count uint64) []*dataplanev1.Unrecorded {
	return []*dataplanev1.Unrecorded{{VirtualServiceUuid: service, Class: 3, Count: count}}
}

func everything(string) bool { return true }

func TestWhatNoRecordStandsForIsKnownBySource(t *testing.T) {
	v := visit(t, &shelf{})
	for worker, count := range []uint64{5, 7} {
		batch := &enginev1.RecordBatch{Epoch: 1, Worker: uint32(worker), Number: 1, Waiting: waitingFor("a", count)}
		if err := v.Take(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if count := v.intake.Unrecorded(everything); count != 12 {
		t.Errorf("%d wait", count)
	}
	if count := v.intake.Unrecorded(func(service string) bool { return service == "b" }); count != 0 {
		t.Errorf("%d wait of another", count)
	}
	v.Stand(0, 1, waitingFor("a", 1))
	if count := v.intake.Unrecorded(everything); count != 8 {
		t.Errorf("%d wait after an engine said so", count)
	}
}

// A machine that loses power takes along what its data plane had not recorded.
func TestWhatAnEngineTookAlongIsToldWithItsNextBatch(t *testing.T) {
	store := &shelf{}
	v := visit(t, store)
	for number, epoch := range []uint64{1, 1, 2, 2} {
		batch := &enginev1.RecordBatch{Epoch: epoch, Number: uint64(number + 1)}
		if epoch == 1 {
			batch.Waiting = waitingFor("virtualservice-1", 9)
		}
		if err := v.Take(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(store.rows) != 1 || store.rows[0].Type != query.Requests || store.rows[0].Scope != "tenant-1" {
		t.Fatalf("rows are %v", store.rows)
	}
	said := fmt.Sprint(store.rows[0].Fields)
	for _, part := range []string{"{weight 9}", "{class all}", "{lost_reason "} {
		if !strings.Contains(said, part) {
			t.Errorf("row is %s", said)
		}
	}
	if count := v.intake.Unrecorded(everything); count != 0 {
		t.Errorf("%d wait", count)
	}
}

func TestABatchWaitsForAStoreThatIsAwayAndIsGivenUpIfItCanNeverBeStored(t *testing.T) {
	store := &shelf{errors: []error{&logs.Unavailable{Reason: "starting"}, logs.ErrNoSpace}}
	v := visit(t, store)
	if err := v.Take(t.Context(), batchOf(request())); err != nil || len(store.origins) != 1 {
		t.Errorf("%v, stored %v", err, store.origins)
	}
	if want := (wire.Origin{Source: "se-1/4", Epoch: 1, Sequence: 9}); store.origins[0] != want {
		t.Errorf("origin is %v", store.origins[0])
	}
	store.errors = []error{&logs.Refused{Reason: "no"}, &logs.Refused{Reason: "nor what stands for it"}}
	if err := v.Take(t.Context(), batchOf(request())); err != nil || len(store.origins) != 1 {
		t.Errorf("%v, stored %v", err, store.origins)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	store.errors = []error{logs.ErrNoSpace}
	if err := v.Take(ended, batchOf(request())); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
