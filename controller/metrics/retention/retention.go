// Package retention says how often the history of numbers has samples, and for how long it keeps them, in tiers.
package retention

import (
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/compression"
)

const (
	// CollectEvery is the time between two collections. Samples have the times of its multiples, so each window of a
	// multiple of it has the same number of samples.
	CollectEvery = 5 * time.Second
	// HistogramEvery is the time between two samples of a histogram in the finest tier: one costs as much as ten
	// numbers.
	HistogramEvery = time.Minute

	day = 24 * time.Hour
)

// Tier says what a tier keeps. A cumulative counter loses nothing in a coarse tier: each sample has the whole count.
type Tier struct {
	Name     string        // of its directory, too
	Step     time.Duration // between samples
	Keep     time.Duration
	BytesMax int64         // on disk; the oldest block goes first
	Block    time.Duration // the shortest block; the longest is nine times as long, about a tenth of Keep
}

// Tiers are all tiers, the finest first. The lengths of blocks keep two tiers from compacting in the same hour.
var Tiers = [...]Tier{
	{Name: "5s", Step: CollectEvery, Keep: 7 * day, BytesMax: 8 << 30, Block: 2 * time.Hour},
	{Name: "5min", Step: 5 * time.Minute, Keep: 90 * day, BytesMax: 4 << 30, Block: day},
	{Name: "1h", Step: time.Hour, Keep: 456 * day, BytesMax: 2 << 30, Block: 5 * day},
}

// Options are those of the storage of a tier.
func (t Tier) Options() *tsdb.Options {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = t.Keep.Milliseconds()
	options.MaxBytes = t.BytesMax
	options.MinBlockDuration = t.Block.Milliseconds()
	options.MaxBlockDuration = 9 * t.Block.Milliseconds()
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
