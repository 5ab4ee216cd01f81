package store

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// refusing is an etcd that gives one answer to all writes.
type refusing struct {
	pb.KVClient
	answer error
}

func (r refusing) Txn(context.Context, *pb.TxnRequest, ...grpc.CallOption) (*pb.TxnResponse, error) {
	return nil, r.answer
}

func TestWriteThatEtcdHasNoTimeForIsToldAsThat(t *testing.T) {
	s := open(t, t.TempDir())
	for _, one := range []struct {
		answer          error
		busy, uncertain bool
	}{
		{rpctypes.ErrGRPCTimeout, true, true},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, true, true},
		{rpctypes.ErrGRPCTimeoutDueToConnectionLost, true, true},
		{rpctypes.ErrGRPCTimeoutWaitAppliedIndex, true, true},
		{rpctypes.ErrGRPCNoLeader, true, true},
		{rpctypes.ErrGRPCLeaderChanged, true, true},
		{rpctypes.ErrGRPCUnhealthy, true, true},
		{rpctypes.ErrGRPCDeadlineExceeded, true, true},
		{context.DeadlineExceeded, true, true},
		{rpctypes.ErrTooManyRequests, true, false}, // its server answers with this one, and not with that of gRPC
		{rpctypes.ErrGRPCRequestTooManyRequests, true, false},
		{rpctypes.ErrGRPCCorrupt, false, true},
		{rpctypes.ErrGRPCDuplicateKey, false, true},
		{rpctypes.ErrGRPCNoSpace, false, false},
	} {
		s.client.KV = clientv3.NewKVFromKVClient(refusing{answer: one.answer}, s.client)
		err := s.Update(t.Context(), func(tx *Tx) error {
			tx.Put(pool("a"))
			return nil
		})
		if err == nil || errors.Is(err, ErrBusy) != one.busy || errors.Is(err, ErrUncertain) != one.uncertain {
			t.Errorf("%v: %v, want busy %t, uncertain %t", one.answer, err, one.busy, one.uncertain)
		}
	}
}

func TestWriteThatTheDiskHoldsUpIsToldAsBusyAndMayBeStored(t *testing.T) {
	t.Parallel() // etcd waits for 5 s
	s := open(t, t.TempDir())
	// Until etcd has stored its own version, it can hold a lock without which it does not even say that it is late.
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for s.member.etcd.Server.ClusterVersion() == nil {
		<-poll.C
	}
	disk := s.member.etcd.Server.Backend().BatchTx()
	disk.Lock()
	err := s.Update(t.Context(), func(tx *Tx) error {
		tx.Put(pool("a"))
		return nil
	})
	disk.Unlock()
	if !errors.Is(err, ErrBusy) || !errors.Is(err, ErrUncertain) {
		t.Errorf("got %v", err)
	}
}
