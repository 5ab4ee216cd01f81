package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestFullDatabaseTakesWritesAgainAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, pool("a"))
	before := s.View().Revision()
	put(t, s, pool("a"))
	server := s.member.etcd.Server
	_, err = server.Alarm(t.Context(), &pb.AlarmRequest{ // as etcd does itself at its quota
		Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE, MemberID: uint64(server.MemberID()),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx *Tx) error { tx.Delete("pool", "pool-a"); return nil })
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("while it is full: %v", err)
	}
	s.Close()
	again := open(t, dir)
	if _, ok := again.View().Get("pool", "pool-a"); !ok {
		t.Error("an object was lost")
	}
	if _, err := again.client.Get(t.Context(), headKey, clientv3.WithRev(before)); !errors.Is(err,
		rpctypes.ErrCompacted) {
		t.Errorf("history is still there: %v", err)
	}
	put(t, again, pool("b"))
}

func TestQuotaLeavesRoomToDelete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if quota := quotaFor(path); quota != quotaBytes {
		t.Errorf("of a new database %d", quota)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(3 << 30); err != nil { // sparse
		t.Fatal(err)
	}
	if quota := quotaFor(path); quota < 3<<30+headroomBytes {
		t.Errorf("of one with 3 GiB %d", quota)
	}
}
