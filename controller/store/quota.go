package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	quotaBytes = 2 << 30 // limit of the database file; this is etcd's default
	// headroomBytes is free after each start, however large the file is: to delete an object is a write, too.
	headroomBytes = 64 << 20
)

// quotaFor returns the limit for a database file. The file may not exist yet.
func quotaFor(path string) int64 {
	file, err := os.Stat(path)
	if err != nil {
		return quotaBytes
	}
	return max(quotaBytes, file.Size()+headroomBytes)
}

// makeRoom compacts a database that was full, and disarms etcd's alarm. All history is lost. etcd never disarms the
// alarm by itself, and accepts no write until then.
func (m *member) makeRoom(ctx context.Context, client *clientv3.Client, log *slog.Logger) error {
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("the alarms of the database cannot be read: %w", err)
	}
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		before := m.etcd.Server.Backend().Size()
		err := m.shrink(ctx, client, alarms.Header.Revision)
		if err == nil {
			_, err = client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm))
		}
		if err != nil {
			return fmt.Errorf("the database is full and could not be shrunk: %w", err)
		}
		log.Warn("the database was full; delete objects that nobody needs",
			"was_mib", before>>20, "is_mib", m.etcd.Server.Backend().Size()>>20)
	}
	return nil
}

// shrink removes all states but the newest, and gives the freed space back to the file system.
func (m *member) shrink(ctx context.Context, client *clientv3.Client, newest int64) error {
	_, err := client.Compact(ctx, newest, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return err
	}
	return m.etcd.Server.Backend().Defrag() // the client in process panics on Defragment
}
