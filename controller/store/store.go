// Package store keeps every object of the controller in an embedded etcd and shows them as immutable views.
//
// It sits between admit, which decides what may be written, and everything that reads: rest, model, fleet. Updates that
// wait for each other share one etcd transaction; one watch feeds the View. It is the only importer of etcd, and it
// never decides whether an object is valid.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Config says where the store is, and how it works.
type Config struct {
	Dir    string                 // created with mode 0700 if it does not exist
	Logger *slog.Logger           // nil: slog.Default()
	Sealer func() (Sealer, error) // encrypts the objects on disk; called when this process has locked the directory
	Now    func() time.Time       // nil: time.Now; gives _last_modified
	Index  func(*Record) []string // nil: none; keys by which View.Indexed finds an object
}

// Store is an open data directory. All methods are safe for concurrent use.
type Store struct {
	log    *slog.Logger
	now    func() time.Time
	index  func(*Record) []string
	sealer Sealer
	disk   *disk
	lock   *os.File
	member *member
	client *clientv3.Client

	words words

	writing sync.Mutex // one commit of this process at a time; the head key protects against other processes
	waiting updates    // for writing
	stamped int64      // newest _last_modified so far; guarded by writing

	view   atomic.Pointer[View]
	news   sync.Mutex
	moved  chan struct{} // closed and replaced when the view moves; guarded by news
	cancel context.CancelFunc
	done   chan struct{}
}

// Open starts the database in the directory and returns when the first view is complete.
//
// Errors: ErrInUse, ErrPermission, ErrDiskFull, ErrCorrupt, each wrapped in one line for the operator, or the sealer's.
func Open(ctx context.Context, config Config) (*Store, error) {
	s := &Store{
		log:   config.Logger,
		now:   config.Now,
		index: config.Index,
		disk:  &disk{dir: config.Dir, free: freeBytes},
		moved: make(chan struct{}),
		done:  make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.open(ctx, config); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, config Config) (err error) {
	if s.lock, err = claim(config.Dir); err != nil {
		return err
	}
	if err = s.disk.check(); err == nil {
		s.sealer, err = config.Sealer()
	}
	if err == nil {
		s.member, err = startMember(ctx, config.Dir, s.log)
	}
	if err != nil {
		return closeAfter(err, s.lock)
	}
	s.client = s.member.client()
	if err = s.member.makeRoom(ctx, s.client, s.log); err == nil {
		err = s.follow(ctx)
	}
	if err != nil {
		s.Close()
		return err
	}
	return nil
}

func closeAfter(err error, lock *os.File) error {
	if closing := lock.Close(); closing != nil {
		return fmt.Errorf("%w (and the lock file did not close: %v)", err, closing)
	}
	return err
}

// Close stops the watch and the database. Existing views stay readable.
func (s *Store) Close() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
	s.member.stop()
	if err := s.lock.Close(); err != nil {
		s.log.Warn("the lock of the data directory did not close", "error", err)
	}
}

// Failed receives the error with which the database ended under a running store. The process should log it and end.
func (s *Store) Failed() <-chan error { return s.member.failed }

// HasIndex tells whether Config.Index was set. Without it, View.Indexed finds nothing.
func (s *Store) HasIndex() bool { return s.index != nil }

// View returns all objects at the newest revision this process has seen.
func (s *Store) View() *View { return s.view.Load() }

// Changes sends the newest view now and after each change, until ctx ends. A slow reader misses views in between,
// never the newest one.
func (s *Store) Changes(ctx context.Context) <-chan *View {
	views := make(chan *View)
	go func() {
		defer close(views)
		for sent := (*View)(nil); ; {
			view, moved := s.newest()
			if view != sent {
				select {
				case views <- view:
					sent = view
					continue
				case <-moved:
					continue
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-moved:
			case <-s.done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return views
}

// newest returns the view, and a channel that is closed when there is a newer one.
func (s *Store) newest() (*View, <-chan struct{}) {
	s.news.Lock()
	defer s.news.Unlock()
	return s.view.Load(), s.moved
}

func (s *Store) publish(view *View) {
	s.news.Lock()
	defer s.news.Unlock()
	s.view.Store(view)
	close(s.moved)
	s.moved = make(chan struct{})
}

// caughtUp waits until the view has reached a revision.
func (s *Store) caughtUp(ctx context.Context, revision int64) error {
	for {
		view, moved := s.newest()
		if view.Revision() >= revision {
			return nil
		}
		select {
		case <-moved:
		case <-s.done:
			return ErrClosed
		case <-ctx.Done():
			return s.explain(ctx.Err())
		}
	}
}
