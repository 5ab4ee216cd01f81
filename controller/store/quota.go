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
	quotaBytes = 2 << 30 // of the database file, as etcd has it by default
	// headroomBytes are there after each start, however large the file is: a deletion is a write, too.
	headroomBytes = 64 << 20
)

// quotaFor bounds the database in a file; the file may not be there yet.
func quotaFor(path string) int64 {
	file, err := os.Stat(path)
	if err != nil {
		return quotaBytes
	}
	return max(quotaBytes, file.Size()+headroomBytes)
}

// makeRoom takes back the alarm of a database that was full, and with it all history. etcd itself keeps the alarm for
// ever, and takes no write while it stands.
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

// shrink drops all states but the newest, and gives the file system what that frees.
func (m *member) shrink(ctx context.Context, client *clientv3.Client, newest int64) error {
	_, err := client.Compact(ctx, newest, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return err
	}
	return m.etcd.Server.Backend().Defrag() // the client in process panics on Defragment
}
