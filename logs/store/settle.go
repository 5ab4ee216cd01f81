package store

import (
	"context"
	"fmt"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"
)

// settle waits until the storage has written all its rows to disk, and then forgets the journal. Rows that come in the
// meantime wait, about two seconds.
func (s *Store) settle() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if s.journal.Bytes() == 0 {
		return nil
	}
	cut, err := s.journal.Cut()
	if err != nil {
		return err
	}
	s.flush()
	const patience = time.Minute
	for began := time.Now(); s.inMemory() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			return fmt.Errorf("the storage has not written its rows to disk for %v", patience)
		}
	}
	return s.journal.Settle(cut)
}

// inMemory returns how many rows the storages have not written to disk.
func (s *Store) inMemory() uint64 {
	var stats logstorage.StorageStats
	s.storage.UpdateStats(&stats)
	s.requests.UpdateStats(&stats)
	return stats.InmemoryRowsCount
}

// flush makes the rows that the storages have taken visible, and has them written.
func (s *Store) flush() {
	s.storage.DebugFlush()
	s.requests.DebugFlush()
}

// tidy settles the journal now and then, until ctx ends.
func (s *Store) tidy(ctx context.Context) {
	const lookEvery = time.Second
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	settled := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if bytes := s.journal.Bytes(); bytes < journalBytesMax && (bytes == 0 || time.Since(settled) < settleAfter) {
			continue
		}
		if err := s.settle(); err != nil {
			s.Log.Error("the journal of the record store cannot be settled; it grows", "reason", err)
		}
		settled = time.Now()
	}
}

// show makes all rows visible for queries that are with the storage by now.
func (s *Store) show() {
	s.showing.Lock() // who comes second waits until the rows are visible
	defer s.showing.Unlock()
	if s.fresh.Swap(false) {
		s.flush()
	}
}
