package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

const (
	memberName   = "weir"
	startTimeout = time.Minute
	stopTimeout  = 10 * time.Second

	maxTxnOps       = 8192    // bounds one Update: bootstrap and macros write many objects at once
	maxRequestBytes = 8 << 20 // bounds one Update in bytes
)

// member is the embedded etcd server. It has no listener: the client calls it in process.
type member struct {
	etcd   *embed.Etcd
	level  zap.AtomicLevel
	once   sync.Once
	failed chan error    // gets one error when etcd has failed
	gaveUp chan struct{} // closed when etcd has failed
}

// startMember returns when the member accepts writes. If etcd finds damage, it ends the process or a goroutine; the
// hooks of its logger turn that into an error here.
func startMember(ctx context.Context, dir string, log *slog.Logger) (*member, error) {
	// During the start etcd warns about options that are not set. Only errors matter to an operator.
	m := &member{failed: make(chan error, 1), gaveUp: make(chan struct{}), level: zap.NewAtomicLevelAt(zap.ErrorLevel)}
	existed := fileExists(filepath.Join(dir, "member"))
	if err := probe(databaseFile(dir)); err != nil {
		return nil, unopened(dir, existed, err)
	}
	started := make(chan error, 1)
	go func() {
		// With a truncated log, etcd dereferences a nil pointer; its clean-up after a failure may do so, too.
		defer func() {
			if cause := recover(); cause != nil {
				m.fail(fmt.Errorf("its log does not fit its database (%v)", cause))
			}
		}()
		etcd, err := embed.StartEtcd(memberConfig(dir, m.logger(log)))
		m.etcd = etcd
		started <- err
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := m.await(ctx, started); err != nil {
		return nil, unopened(dir, existed, err)
	}
	m.level.SetLevel(zap.WarnLevel)
	return m, nil
}

func (m *member) await(ctx context.Context, started <-chan error) error {
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case err := <-m.failed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the database did not start: %w", ctx.Err())
	}
	select {
	case <-m.etcd.Server.ReadyNotify():
		return nil
	case err := <-m.failed:
		return err
	case <-ctx.Done():
		m.stop()
		return fmt.Errorf("the database did not become ready: %w", ctx.Err())
	}
}

func memberConfig(dir string, logger *zap.Logger) *embed.Config {
	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = dir
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	config.ListenPeerUrls, config.ListenClientUrls = nil, nil
	// Nobody dials this URL: it is the name of the only member in its own member list.
	self := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	config.AdvertisePeerUrls, config.AdvertiseClientUrls = []url.URL{self}, []url.URL{self}
	config.InitialCluster = memberName + "=" + self.String()
	// A single member waits one election timeout before it becomes the leader.
	config.TickMs, config.ElectionMs = 10, 100
	config.QuotaBackendBytes = quotaFor(databaseFile(dir))
	config.MaxTxnOps = maxTxnOps
	config.MaxRequestBytes = maxRequestBytes
	// The log of raft stays in memory from one snapshot to the next, and some of it longer, for members that are slow.
	// There is one member.
	config.SnapshotCount, config.SnapshotCatchUpEntries = 1000, 10
	config.AutoCompactionMode, config.AutoCompactionRetention = embed.CompactorModeRevision, "1000"
	return config
}

func databaseFile(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

func (m *member) client() *clientv3.Client { return v3client.New(m.etcd.Server) }

// fail reports the first cause only.
func (m *member) fail(err error) {
	m.once.Do(func() {
		m.failed <- err
		close(m.gaveUp)
	})
}

// stop waits until etcd has stopped, unless etcd has failed already.
func (m *member) stop() {
	closed := make(chan struct{})
	go func() {
		m.etcd.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-m.gaveUp:
	case <-time.After(stopTimeout):
	}
}

// probe opens the database file as etcd does. A panic about a broken page can be caught here.
func probe(path string) (err error) {
	if !fileExists(path) {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s: %v", path, cause)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			bucket.Cursor().Last()
			return nil
		})
	})
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func unopened(dir string, existed bool, err error) error {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		if errors.Is(err, cause) {
			return inaccessible(dir, err)
		}
	}
	if existed && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s: %v; move it aside and restore a backup", ErrCorrupt, dir, err)
	}
	return fmt.Errorf("the database in %s did not start: %w", dir, err)
}
