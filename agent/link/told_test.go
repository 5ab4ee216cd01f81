package link

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func counted(uuid string, requests uint64) *dataplanev1.VirtualServiceCounters {
	return &dataplanev1.VirtualServiceCounters{Uuid: uuid, RequestsTotal: requests}
}

func TestTellsOnlyTheRowsThatChanged(t *testing.T) {
	told := newTold()
	server := &dataplanev1.ServerCounters{PoolUuid: "pool", ServerId: "one", Up: true}
	sample := func(pid uint32, server *dataplanev1.ServerCounters, rows ...*dataplanev1.VirtualServiceCounters,
	) *dataplanev1.Sample {
		return &dataplanev1.Sample{Pid: pid, RssBytes: 9, VirtualServices: rows,
			Servers: []*dataplanev1.ServerCounters{server}}
	}
	down := &dataplanev1.ServerCounters{PoolUuid: "pool", ServerId: "one"}
	for _, step := range []struct {
		what string
		next *dataplanev1.Sample
		sent *dataplanev1.Sample
	}{
		{"the first", sample(7, server, counted("a", 1), counted("b", 1)),
			sample(7, server, counted("a", 1), counted("b", 1))},
		{"one has counted", sample(7, server, counted("a", 1), counted("b", 2)),
			&dataplanev1.Sample{Pid: 7, RssBytes: 9, Changes: true,
				VirtualServices: []*dataplanev1.VirtualServiceCounters{counted("b", 2)}}},
		{"nothing changed", sample(7, server, counted("a", 1), counted("b", 2)),
			&dataplanev1.Sample{Pid: 7, RssBytes: 9, Changes: true}},
		{"a server is down", sample(7, down, counted("a", 1), counted("b", 2)),
			&dataplanev1.Sample{Pid: 7, RssBytes: 9, Changes: true, Servers: []*dataplanev1.ServerCounters{down}}},
		{"a row is new", sample(7, down, counted("a", 1), counted("b", 2), counted("c", 0)),
			&dataplanev1.Sample{Pid: 7, RssBytes: 9, Changes: true,
				VirtualServices: []*dataplanev1.VirtualServiceCounters{counted("c", 0)}}},
		{"a row is gone", sample(7, down, counted("a", 1), counted("c", 0)),
			sample(7, down, counted("a", 1), counted("c", 0))},
		{"another one took its place", sample(7, down, counted("a", 1), counted("b", 2)),
			sample(7, down, counted("a", 1), counted("b", 2))},
		{"another process", sample(8, down, counted("a", 1), counted("b", 2)),
			sample(8, down, counted("a", 1), counted("b", 2))},
	} {
		if sent := told.changes(step.next); !proto.Equal(sent, step.sent) {
			t.Errorf("%s: sent %v, want %v", step.what, sent, step.sent)
		}
	}
}

// A row of all numbers tells that every field of it counts.
func TestTellsARowOfWhichAnyFieldChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	told, last := newTold(), &dataplanev1.VirtualServiceCounters{Uuid: "a"}
	told.changes(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{last}})
	fields := last.ProtoReflect().Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		if field.Name() == "uuid" {
			continue
		}
		next := proto.Clone(last).(*dataplanev1.VirtualServiceCounters)
		change(next, field, random)
		sent := told.changes(&dataplanev1.Sample{VirtualServices: []*dataplanev1.VirtualServiceCounters{next}})
		if len(sent.GetVirtualServices()) != 1 {
			t.Errorf("%s changed, and the row is not told", field.Name())
		}
		last = next
	}
}

func BenchmarkTellsChangesOfFiveThousandServices(b *testing.B) {
	sample := &dataplanev1.Sample{}
	for n := range 5000 {
		sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
			Uuid: fmt.Sprintf("virtualservice-%036d", n), ConnectionsTotal: 1000, RequestsTotal: 1_000_000,
			ResponsesTotal: []uint64{0, 1_000_000, 0, 0, 3}, ReceivedBytesTotal: 1 << 30, SentBytesTotal: 1 << 40})
		for server := range 4 {
			sample.Servers = append(sample.Servers, &dataplanev1.ServerCounters{PoolUuid: fmt.Sprintf("pool-%036d", n),
				ServerId: fmt.Sprint("10.0.0.", server, ":80"), ConnectionsTotal: 1000, RequestsTotal: 1_000_000})
		}
	}
	told := newTold()
	for b.Loop() {
		told.changes(sample)
	}
}

func change(row *dataplanev1.VirtualServiceCounters, field protoreflect.FieldDescriptor, random *rand.Rand) {
	message := row.ProtoReflect()
	switch {
	case field.IsList() && field.Kind() == protoreflect.MessageKind:
		message.Mutable(field).List().AppendMutable()
	case field.IsList():
		message.Mutable(field).List().Append(protoreflect.ValueOfUint64(1 + random.Uint64N(9)))
	case field.Kind() == protoreflect.MessageKind:
		message.Mutable(field)
	default:
		message.Set(field, protoreflect.ValueOfUint64(1+random.Uint64N(9)))
	}
}
