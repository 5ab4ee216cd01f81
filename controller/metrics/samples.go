package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/weir-lb/weir/controller/metrics/retention"
)

// samples are those of one collection.
type samples struct {
	into      *tiers
	at        time.Time
	written   [len(retention.Tiers)]time.Time // of the last samples before; at first, the begin of the collector
	due       [len(retention.Tiers)]bool
	appender  [len(retention.Tiers)]storage.AppenderV2
	histogram bool // the finest tier gets histograms, too
	err       error
	appended  int
	open      int   // samples that are not committed yet
	backward  error // why Prometheus refused the last sample as too old
}

func newSamples(into *tiers, at time.Time, written [len(retention.Tiers)]time.Time,
	due [len(retention.Tiers)]bool) *samples {
	b := &samples{into: into, at: at, written: written, due: due,
		histogram: at.Truncate(retention.HistogramEvery).Equal(at)}
	b.begin()
	return b
}

func (b *samples) begin() {
	for i, db := range b.into.of {
		if b.due[i] {
			b.appender[i] = db.AppenderV2(context.Background())
		}
	}
	b.open = 0
}

// openMost is about how many samples are committed together: that takes less than a millisecond.
const openMost = 500

// next ends what belongs to one object. From time to time it commits, and lets others use the core: thousands of
// objects in one go would keep a core for a tenth of a second.
func (b *samples) next() {
	if b.open < openMost || b.err != nil {
		return
	}
	if b.err = b.commit(); b.err != nil {
		b.appender = [len(retention.Tiers)]storage.AppenderV2{}
		return
	}
	b.begin()
	runtime.Gosched()
}

// add appends the values of a group to the tiers that are due. If it is idle, its series end.
func (b *samples) add(g *group) {
	if g.idle {
		b.end(g)
		return
	}
	g.kept = true
	for _, e := range g.entries {
		for i := range b.due {
			switch {
			case !b.due[i]:
			case e.absent && e.in[i].count == 0: // a coarse tier gets what there was since its last sample
				b.stale(i, e)
			default:
				b.sample(i, e)
			}
		}
	}
}

// end marks the end of series, so that queries do not go on with the last value.
func (b *samples) end(g *group) {
	for _, e := range g.entries {
		for i := range e.in {
			if b.due[i] {
				b.stale(i, e)
			}
		}
	}
	g.rebase()
}

func (b *samples) stale(tier int, e *entry) {
	if e.in[tier].live {
		b.append(tier, e, b.at, math.Float64frombits(value.StaleNaN), staleHistogram(e))
		e.in[tier].live = false
	}
}

func staleHistogram(e *entry) *histogram.Histogram {
	if e.sort != times {
		return nil
	}
	return &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
}

func (b *samples) sample(tier int, e *entry) {
	in := &e.in[tier]
	switch e.sort {
	case counter:
		if !in.live { // the count that it began with: the first increase counts, too
			b.append(tier, e, b.written[tier], e.base, nil)
		}
		b.append(tier, e, b.at, e.value, nil)
	case mean:
		b.append(tier, e, b.at, in.sum/float64(max(1, in.count)), nil)
	case peakOf:
		b.append(tier, e, b.at, in.high, nil)
	case times:
		if tier == 0 && !b.histogram {
			return
		}
		if !in.live {
			b.append(tier, e, b.written[tier], 0, emptyHistogram(e.histogram.Schema))
		}
		b.append(tier, e, b.at, 0, e.histogram)
	}
	in.live, in.sum, in.count = true, 0, 0
}

// append appends one sample. Prometheus refuses samples that are not newer than the last one of the series; that
// happens after the clock was set back, and is no error of the disk.
func (b *samples) append(tier int, e *entry, at time.Time, number float64, times *histogram.Histogram) {
	if b.err != nil {
		return
	}
	ref, err := b.appender[tier].Append(e.in[tier].ref, e.labels, 0, at.UnixMilli(), number, times, nil,
		storage.AppendV2Options{})
	switch {
	case err == nil:
		e.in[tier].ref = ref
		b.appended++
		b.open++
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
	case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds),
		errors.Is(err, storage.ErrTooOldSample):
		b.backward = err
	default:
		b.err = fmt.Errorf("%s: %w", e.labels, err)
	}
}

// outdated returns an error if Prometheus refused all samples, because it has newer ones: the clock was set back, also
// while no controller ran. Nothing is kept until it is past the newest sample again.
func (b *samples) outdated(in *tiers) error {
	if b.appended > 0 || b.backward == nil {
		return nil
	}
	newest := int64(math.MinInt64)
	for i, db := range in.of {
		if !b.due[i] {
			continue
		}
		newest = max(newest, db.Head().MaxTime())
		for _, block := range db.Blocks() {
			newest = max(newest, block.Meta().MaxTime)
		}
	}
	return fmt.Errorf("the clock went back: it is %s, and the newest samples are of %s (%w)",
		b.at.UTC().Format(time.RFC3339), time.UnixMilli(newest).UTC().Format(time.RFC3339), b.backward)
}

// commit writes the open samples of all tiers, or those of none of which one failed.
func (b *samples) commit() error {
	err := b.err
	for i, appender := range b.appender {
		switch {
		case appender == nil:
		case b.err != nil:
			err = errors.Join(err, appender.Rollback())
		default:
			if failed := appender.Commit(); failed != nil {
				err = errors.Join(err, fmt.Errorf("tier %s: %w", retention.Tiers[i].Name, failed))
			}
		}
	}
	return err
}
