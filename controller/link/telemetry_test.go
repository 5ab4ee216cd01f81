package link

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/intake"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/wire"
)

// shelf is a record store that takes batches when it is told to.
type shelf struct {
	mu    sync.Mutex
	away  bool
	taken []wire.Origin
}

func (s *shelf) Store(_ context.Context, origin wire.Origin, _ []wire.Row) (logs.Ack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return logs.Ack{}, errors.New("away")
	}
	s.taken = append(s.taken, origin)
	return logs.Ack{}, nil
}

func (s *shelf) be(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

type nobody struct{}

func (nobody) Service(string) intake.Service { return intake.Service{} }
func (nobody) Pool(string) string            { return "" }
func (nobody) Server(string, string) string  { return "" }
func (nobody) Engine(uuid string) string     { return uuid }

// recorder is the stream of an engine with records.
type recorder struct {
	*testing.T
	stream grpc.BidiStreamingClient[enginev1.TelemetryUp, enginev1.TelemetryDown]
}

func (r *rig) records(identity tls.Certificate) recorder {
	r.Helper()
	stream, err := enginev1.NewFleetClient(r.dial(identity)).Telemetry(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return recorder{r.T, stream}
}

func (r recorder) offer() {
	r.Helper()
	if err := r.stream.Send(&enginev1.TelemetryUp{Body: &enginev1.TelemetryUp_Offer{
		Offer: &enginev1.BatchOffer{PackedBytes: 1 << 20, Records: 100}}}); err != nil {
		r.Fatal(err)
	}
}

func (r recorder) batch(number uint64) {
	r.Helper()
	if err := r.stream.Send(&enginev1.TelemetryUp{Body: &enginev1.TelemetryUp_Batch{
		Batch: &enginev1.RecordBatch{Epoch: 7, Worker: 3, Number: number}}}); err != nil {
		r.Fatal(err)
	}
}

func (r recorder) hear() *enginev1.TelemetryDown {
	r.Helper()
	down, err := r.stream.Recv()
	if err != nil {
		r.Fatal(err)
	}
	return down
}

func newRecordsRig(t *testing.T) (*rig, *shelf) {
	r, store := newRig(t), &shelf{}
	r.server.Records(intake.New(store, nobody{}, slog.New(slog.DiscardHandler), time.Now))
	return r, store
}

func TestBatchesAreGrantedStoredAndTakenInTheNameOfTheirEngine(t *testing.T) {
	r, store := newRecordsRig(t)
	engine := r.records(r.join("a"))
	for number := range uint64(20) {
		engine.offer()
		if engine.hear().GetGrant() == nil {
			t.Fatal("no grant")
		}
		engine.batch(number + 1)
		if taken := engine.hear().GetTaken(); taken.GetNumber() != number+1 || taken.GetEpoch() != 7 ||
			taken.GetWorker() != 3 {
			t.Fatalf("taken is %v", taken)
		}
	}
	if len(store.taken) != 20 || store.taken[0] != (wire.Origin{Source: "se-a/3", Epoch: 7, Sequence: 1}) {
		t.Errorf("stored are %v", store.taken)
	}
}

func TestABatchWithoutAGrantEndsTheStream(t *testing.T) {
	r, _ := newRecordsRig(t)
	engine := r.records(r.join("a"))
	engine.batch(1)
	if _, err := engine.stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestAStoreThatIsAwayHoldsUpRecordsAndNoSession(t *testing.T) {
	r, store := newRecordsRig(t)
	store.be(true)
	identity := r.join("a")
	engine := r.records(identity)
	const inFlight = 2 // one that is being stored, and the next one
	for number := range uint64(inFlight) {
		engine.offer()
		engine.hear()
		engine.batch(number + 1)
	}
	session := r.session(identity, 0)
	r.expect("se-a connected")
	session.hear()
	store.be(false)
	for number := range uint64(inFlight) {
		if taken := engine.hear().GetTaken(); taken.GetNumber() != number+1 {
			t.Errorf("taken is %v", taken)
		}
	}
}

// The places of a stream that breaks are given to others.
func TestCreditComesBackFromStreamsThatBreak(t *testing.T) {
	r, store := newRecordsRig(t)
	store.be(true)
	identity := r.join("a")
	var before recorder
	for range 20 { // more than fits into the memory for records
		next := r.records(identity)
		next.offer()
		next.hear()
		if before.stream != nil {
			if _, err := before.stream.Recv(); status.Code(err) != codes.Aborted {
				t.Fatalf("the stream before ended with %v", err)
			}
		}
		before = next
	}
}

func TestWithoutAStoreThereIsNoStreamOfRecords(t *testing.T) {
	r := newRig(t)
	engine := r.records(r.join("a"))
	if _, err := engine.stream.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}
}
