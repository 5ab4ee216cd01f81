package intake

import (
	"errors"
	"fmt"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

func weightsOf(rows []wire.Row) (weight uint64) {
	for _, row := range rows {
		weight += numberOf(row, query.WeightField, 1)
	}
	return weight
}

// husk stands for lost records of so many virtual services.
func husk(services int) *enginev1.RecordPart {
	part := &enginev1.RecordPart{Class: 3, Lost: "no room"}
	for n := range services {
		part.Tallies = append(part.Tallies, &enginev1.RecordTally{VirtualServiceUuid: fmt.Sprint("vs-", n), Kind: 1,
			Records: 1, Weight: 2, LastUnixUs: 1})
	}
	return part
}

func TestABatchOfMoreRowsThanTheStoreTakesAtOnceIsSplit(t *testing.T) {
	store := &shelf{}
	v := visit(t, store)
	batch := batchOf(request())
	batch.Parts = append(batch.Parts, husk(wire.MaxRows*2))
	if err := v.Take(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if len(store.origins) != 3 || len(store.rows) != wire.MaxRows*2+1 {
		t.Fatalf("%d rows from %v", len(store.rows), store.origins)
	}
	for n, source := range []string{"se-1/4", "se-1/4/1", "se-1/4/2"} {
		if want := (wire.Origin{Source: source, Epoch: 1, Sequence: 9}); store.origins[n] != want {
			t.Errorf("origin is %v, want %v", store.origins[n], want)
		}
	}
}

func TestBatchesAreWithinTheLimitsOfTheStore(t *testing.T) {
	long := make([]byte, wire.MaxValueBytes)
	row := wire.Row{Time: time.Unix(1, 0), Type: query.Requests, Fields: []wire.Field{{Name: "a", Value: string(long)}}}
	var rows []wire.Row
	for range 300 {
		rows = append(rows, row)
	}
	total := 0
	for _, some := range split(rows) {
		read, err := wire.Read(wire.Append(nil, some))
		if err != nil {
			t.Error(err)
		}
		total += len(read)
	}
	if total != len(rows) || len(split(nil)) != 1 {
		t.Errorf("%d of %d rows", total, len(rows))
	}
}

func TestWhatAnEngineTookAlongIsApartFromItsBatchAndWithoutZeros(t *testing.T) {
	store := &shelf{}
	v := visit(t, store)
	waiting := append(waitingFor("b", 0), waitingFor("a", 5)...)
	for n := range wire.MaxRows {
		waiting = append(waiting, &dataplanev1.Unrecorded{VirtualServiceUuid: fmt.Sprint(n), Class: 3, Count: 1})
	}
	v.Stand(4, 0, waiting)
	if err := v.Take(t.Context(), batchOf(request())); err != nil {
		t.Fatal(err)
	}
	if len(store.rows) != wire.MaxRows+2 || fmt.Sprint(store.origins) !=
		"[{se-1/4/abandoned 1 9} {se-1/4/abandoned/1 1 9} {se-1/4 1 9}]" {
		t.Errorf("%d rows from %v", len(store.rows), store.origins)
	}
}

func TestABatchThatCanNeverBeStoredOrReadIsCounted(t *testing.T) {
	store := &shelf{errors: []error{&logs.Refused{Reason: "no"}}}
	v := visit(t, store)
	batch := batchOf(request(), request(), refused())
	rows, err := v.unpacker.rows("se-1", batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Take(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if want := weightsOf(rows); weightsOf(store.rows) != want || len(store.rows) >= len(rows) ||
		valueOf(store.rows[0], "lost_reason") != storeRefused {
		t.Errorf("stored %v, want the weight %d", store.rows, want)
	}
	broken := batchOf()
	broken.Parts = append(broken.Parts, husk(2))
	broken.Parts[len(broken.Parts)-1].Lost = ""
	broken.Parts[len(broken.Parts)-1].Zstd = []byte("no zstd")
	store.rows = nil
	if err := v.Take(t.Context(), broken); err != nil || weightsOf(store.rows) != 4 {
		t.Errorf("%v, stored %v", err, store.rows)
	}
	store.errors = []error{&logs.Refused{}, &logs.Refused{}}
	if err := v.Take(t.Context(), batchOf(request())); err != nil || len(store.errors) != 0 {
		t.Errorf("%v, %v", errors.Join(err), store.errors)
	}
}
