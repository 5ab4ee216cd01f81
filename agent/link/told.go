package link

import (
	"hash/maphash"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// told is what the controller has heard of the rows of Samples on one stream: a hash of each row. Most rows of an
// engine do not change within a second, and the controller need not read them again.
type told struct {
	seed     maphash.Seed
	pid      uint32
	services map[string]uint64
	servers  map[serverKey]uint64
	packed   []byte // room for one row
}

func newTold() *told { return &told{seed: maphash.MakeSeed()} }

// changes returns what is to be sent of a Sample: the rows that the controller has not heard, or the whole Sample if it
// is the first, if another process counted it, or if a row is no more. Two different rows have the same hash once in
// 2^64; the second one then waits for its next change.
func (t *told) changes(sample *dataplanev1.Sample) *dataplanev1.Sample {
	if t.services == nil || sample.GetPid() != t.pid {
		return t.whole(sample)
	}
	services, servers := t.fresh(sample)
	if len(t.services) != len(sample.GetVirtualServices()) || len(t.servers) != len(sample.GetServers()) {
		return t.whole(sample) // more rows were told than there are
	}
	sent := &dataplanev1.Sample{}
	sample.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if name := field.Name(); name != "virtual_services" && name != "servers" {
			sent.ProtoReflect().Set(field, value)
		}
		return true
	})
	sent.VirtualServices, sent.Servers, sent.Changes = services, servers, true
	return sent
}

func (t *told) whole(sample *dataplanev1.Sample) *dataplanev1.Sample {
	t.pid, t.services, t.servers = sample.GetPid(), map[string]uint64{}, map[serverKey]uint64{}
	t.fresh(sample)
	return sample
}

// fresh returns the rows that differ from what was told, and notes them.
func (t *told) fresh(sample *dataplanev1.Sample) (services []*dataplanev1.VirtualServiceCounters,
	servers []*dataplanev1.ServerCounters) {
	for _, row := range sample.GetVirtualServices() {
		if is := t.hash(row); t.services[row.GetUuid()] != is {
			t.services[row.GetUuid()] = is
			services = append(services, row)
		}
	}
	for _, row := range sample.GetServers() {
		key := serverKey{row.GetPoolUuid(), row.GetServerId()}
		if is := t.hash(row); t.servers[key] != is {
			t.servers[key] = is
			servers = append(servers, row)
		}
	}
	return services, servers
}

// hash is never 0, which stands for a row that was not told.
func (t *told) hash(row proto.Message) uint64 {
	packed, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(t.packed[:0], row)
	if err != nil {
		return 0 // it is sent each time, and the stream says what is wrong with it
	}
	t.packed = packed
	return maphash.Bytes(t.seed, packed) | 1
}
