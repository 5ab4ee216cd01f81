package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/compression"
)

const day = 24 * time.Hour

// tierSpec says what a tier keeps. A cumulative counter loses nothing in a coarse tier: each sample has the whole
// count.
type tierSpec struct {
	name     string
	step     time.Duration // between samples
	keep     time.Duration
	bytesMax int64         // on disk; the oldest block goes first
	block    time.Duration // the shortest block; the longest is nine times as long, about a tenth of keep
}

// The tiers, the finest first. The lengths of blocks keep two tiers from compacting in the same hour.
var tierSpecs = [...]tierSpec{
	{name: "5s", step: collectEvery, keep: 7 * day, bytesMax: 8 << 30, block: 2 * time.Hour},
	{name: "5min", step: 5 * time.Minute, keep: 90 * day, bytesMax: 4 << 30, block: day},
	{name: "1h", step: time.Hour, keep: 456 * day, bytesMax: 2 << 30, block: 5 * day},
}

// roomMin is the free space on disk below which nothing is written: the objects of the controller may be on that disk.
const roomMin = 512 << 20

// tiers are the open tiers.
type tiers struct {
	dir string
	of  [len(tierSpecs)]*tsdb.DB
}

func openTiers(dir string, log *slog.Logger) (*tiers, error) {
	opened := &tiers{dir: dir}
	for i, spec := range tierSpecs {
		at := filepath.Join(dir, spec.name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, errors.Join(err, opened.close())
		}
		db, err := tsdb.Open(at, slog.New(warnings{log.Handler()}).With("tier", spec.name), nil, spec.options(), nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", at, err), opened.close())
		}
		opened.of[i] = db
	}
	return opened, nil
}

func (s tierSpec) options() *tsdb.Options {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = s.keep.Milliseconds()
	options.MaxBytes = s.bytesMax
	options.MinBlockDuration = s.block.Milliseconds()
	options.MaxBlockDuration = 9 * s.block.Milliseconds()
	options.WALCompression = compression.Snappy // an encoder of Zstd keeps 10 MiB for each tier
	options.WALSegmentSize = walSegmentBytes
	options.StripeSize = stripes
	options.NoLockfile = false
	options.OutOfOrderTimeWindow = 0 // it has lost samples in compactions
	options.EnableMemorySnapshotOnShutdown = true
	return options
}

const (
	stripes         = 512
	walSegmentBytes = 16 << 20
)

// hasRoom returns an error while the disk is too full to write.
func (t *tiers) hasRoom() error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(t.dir, &disk); err != nil {
		return fmt.Errorf("%s: %w", t.dir, err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < roomMin {
		return fmt.Errorf(
			"only %d MiB are free at %s, and metrics leave %d MiB to the rest of the controller: free some",
			free>>20, t.dir, roomMin>>20)
	}
	return nil
}

// inMemory is the number of series that the fullest tier has in memory.
func (t *tiers) inMemory() (most int) {
	for _, db := range t.of {
		most = max(most, int(db.Head().NumSeries()))
	}
	return most
}

// endedMost is how many series that have ended a tier keeps in memory: about 30 MB.
const endedMost = 10_000

// sweep writes the series that have ended to blocks, and frees their memory, in the tiers that have more of them than
// most. A tier does that by itself only with its next block, which a coarse tier begins after days: where objects come
// and go, their series would pile up.
func (t *tiers) sweep(most int) (err error) {
	for i, db := range t.of {
		if int(db.Head().NumStaleSeries()) <= most {
			continue
		}
		if failed := db.CompactStaleHead(); failed != nil {
			err = errors.Join(err, fmt.Errorf("tier %s: %w", tierSpecs[i].name, failed))
		}
	}
	return err
}

func (t *tiers) close() (err error) {
	for _, db := range t.of {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}
