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
	Block    time.Duration // the shortest block
	Longest  time.Duration // the longest block, about a tenth of Keep: Block times a power of three
}

// Tiers are all tiers, the finest first. A tier keeps the series of what was deleted in memory for one and a half times
// its shortest block. The finest tier writes a block 20 minutes after midnight and each 40 minutes from then on, the
// others at noon: so it never does so together with them.
var Tiers = [...]Tier{
	{Name: "5s", Step: CollectEvery, Keep: 7 * day, BytesMax: 8 << 30, Block: 40 * time.Minute,
		Longest: 18 * time.Hour},
	{Name: "5min", Step: 5 * time.Minute, Keep: 90 * day, BytesMax: 4 << 30, Block: day, Longest: 9 * day},
	{Name: "1h", Step: time.Hour, Keep: 456 * day, BytesMax: 2 << 30, Block: 5 * day, Longest: 45 * day},
}

// Options are those of the storage of a tier.
func (t Tier) Options() *tsdb.Options {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = t.Keep.Milliseconds()
	options.MaxBytes = t.BytesMax
	options.MinBlockDuration = t.Block.Milliseconds()
	options.MaxBlockDuration = t.Longest.Milliseconds()
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
