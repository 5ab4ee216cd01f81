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

	"github.com/weir-lb/weir/controller/metrics/retention"
)

const day = 24 * time.Hour

// roomMin is the free space on disk below which nothing is written: the objects of the controller may be on that disk.
const roomMin = 512 << 20

// tiers are the open tiers.
type tiers struct {
	dir string
	of  [len(retention.Tiers)]*tsdb.DB
}

func openTiers(dir string, log *slog.Logger) (*tiers, error) {
	opened := &tiers{dir: dir}
	for i, spec := range retention.Tiers {
		at := filepath.Join(dir, spec.Name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, errors.Join(err, opened.close())
		}
		db, err := tsdb.Open(at, slog.New(warnings{log.Handler()}).With("tier", spec.Name), nil, spec.Options(), nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", at, err), opened.close())
		}
		opened.of[i] = db
	}
	return opened, nil
}

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
			err = errors.Join(err, fmt.Errorf("tier %s: %w", retention.Tiers[i].Name, failed))
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
