package store

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestErrorSaysWhetherTheChangeMayBeStored(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	write := func(ctx context.Context, s *Store, description string) error {
		return s.Update(ctx, func(tx *Tx) error {
			record := pool("a")
			record.Object["description"] = description
			tx.Put(record)
			return nil
		})
	}
	for name, one := range map[string]struct {
		fail      func(s *Store) error
		uncertain bool
	}{
		"etcd does not answer in time": {func(s *Store) error {
			_, err := s.settle(ended, s.View().Revision(), []change{{"pool", "pool-a", pool("a")}})
			return err
		}, true},
		"the store ends": {func(s *Store) error {
			return s.Update(t.Context(), func(tx *Tx) error {
				s.cancel()
				<-s.done
				tx.Put(pool("a"))
				return nil
			})
		}, true},
		"the writer is interrupted": {func(*Store) error { return errInterrupted }, true},
		"nobody waits any more":     {func(s *Store) error { return write(ended, s, "") }, false},
		"the disk is full": {func(s *Store) error {
			s.disk.free = func(string) (uint64, error) { return 0, nil }
			return write(t.Context(), s, "")
		}, false},
		"the change is too large": {func(s *Store) error {
			return write(t.Context(), s, strings.Repeat("x", maxRequestBytes))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := one.fail(open(t, t.TempDir())); err == nil || errors.Is(err, ErrUncertain) != one.uncertain {
				t.Errorf("got %v", err)
			}
		})
	}
}
