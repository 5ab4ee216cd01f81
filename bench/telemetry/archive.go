package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
)

// archive is a record store in a process of its own, as under a controller.
type archive struct {
	*logs.Keeper
	dir    string
	filled filled
	end    func() error
}

// filled says what a directory that is kept has in it.
type filled struct {
	Records int
	Now     time.Time // the records are of the 24 hours before
	Used    time.Duration
}

// storeDir is the directory of the store, in that of the archive.
const storeDir = "store"

// filledFile stands beside the store, and is written when all records are there.
const filledFile = "filled.json"

// openArchive starts a store with so many records: in the directory that is kept, or else in one that end removes.
func (r *run) openArchive(ctx context.Context, records int) (a *archive, err error) {
	a = &archive{dir: r.Archive, filled: filled{Records: records, Now: time.Now().UTC()}}
	remove := func() error { return nil }
	if a.dir == "" {
		if a.dir, err = os.MkdirTemp("", "weir-archive-"); err != nil {
			return nil, err
		}
		remove = func() error { return os.RemoveAll(a.dir) }
	}
	isFilled, err := a.readFilled(records)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	a.Keeper = logs.NewKeeper(logs.Config{
		Program: filepath.Join(r.programs, "weir"), Dir: filepath.Join(a.dir, storeDir), Days: 30, DiskMiB: 1024,
		RequestDays: 30, RequestDiskMiB: 16 << 10, MemoryMiB: 512, Log: slog.New(slog.DiscardHandler)})
	running, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { a.Run(running) })
	a.end = func() error { stop(); keeping.Wait(); return remove() }
	if !isFilled {
		a.filled.Used, err = a.fill(ctx, records, r.Say)
		if err == nil {
			err = a.writeFilled()
		}
	}
	if err == nil {
		err = a.untilStored(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.end())
	}
	return a, nil
}

// readFilled tells whether the directory has the records. One with something else in it is refused.
func (a *archive) readFilled(records int) (bool, error) {
	text, err := os.ReadFile(filepath.Join(a.dir, filledFile))
	if errors.Is(err, os.ErrNotExist) {
		entries, err := os.ReadDir(a.dir)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("%s is neither empty nor an archive of this bench: give another directory", a.dir)
		}
		if errors.Is(err, os.ErrNotExist) {
			err = os.MkdirAll(a.dir, 0o700)
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, &a.filled); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(a.dir, filledFile), err)
	}
	if a.filled.Records != records {
		return false, fmt.Errorf("%s has %d records, not %d: give another directory", a.dir, a.filled.Records, records)
	}
	return true, nil
}

func (a *archive) writeFilled() error {
	text, err := json.Marshal(a.filled)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a.dir, filledFile), text, 0o600)
}

// fill stores records, and returns the CPU time of the store.
func (a *archive) fill(ctx context.Context, count int, say func(string, ...any)) (used time.Duration, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	said := time.Now()
	for n := range count {
		at := a.filled.Now.Add(-recordsSpan + time.Duration(float64(recordsSpan)*float64(n)/float64(count)))
		a.Add(requestRecord(random, n, at))
		if n%1000 != 0 {
			continue
		}
		for a.Status().Waiting > waitingMost {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return 0, fmt.Errorf("after %d records: %w", n, ctx.Err())
			}
		}
		if time.Since(said) > 30*time.Second {
			said = time.Now()
			say("  %d of %d records", n, count)
		}
	}
	if err := a.untilStored(ctx); err != nil {
		return 0, err
	}
	usage, err := a.usage()
	return usage.Run, err
}

// untilStored waits until the store answers that it has all records.
func (a *archive) untilStored(ctx context.Context) error {
	return until(ctx, 100*time.Millisecond, func() error {
		answer, err := a.Ask(ctx, a.question(func(q *query.Query) { q.Rows = &query.Rows{Limit: 1, Count: true} }))
		if err == nil && answer.Count != uint64(a.filled.Records) {
			err = fmt.Errorf("%d of %d records are stored", answer.Count, a.filled.Records)
		}
		return err
	})
}

// usage is what the process of the store has used.
func (a *archive) usage() (meter.Usage, error) {
	pid, err := childNamed(os.Getpid(), "records")
	if err != nil {
		return meter.Usage{}, err
	}
	return meter.ReadGroup([]int{pid})
}

// untilCounted waits until the store has counted ahead the hours that it counts, as it has where records come all day.
func (a *archive) untilCounted(ctx context.Context) error {
	const still = 5 * time.Second
	before, since := -1, time.Now()
	store := logs.NewClient(filepath.Join(a.dir, storeDir))
	return until(ctx, time.Second, func() error {
		state, err := store.State(ctx)
		if err != nil {
			return err
		}
		if state.HoursCounted != before {
			before, since = state.HoursCounted, time.Now()
		}
		if before == 0 || time.Since(since) < still {
			return fmt.Errorf("the store counts hours, and has %d", before)
		}
		return nil
	})
}
