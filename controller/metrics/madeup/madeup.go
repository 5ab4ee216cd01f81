// Package madeup makes a long history of numbers for the benchmarks, which cannot wait for one: weeks of samples that
// nobody counted, in files as the controller writes them. No part of the product may use it.
package madeup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"github.com/weir-lb/weir/controller/metrics/retention"
)

// Made is what Replace has made.
type Made struct {
	Series  int // in each tier
	Samples int // in all tiers
}

// Replace replaces the history in a directory by one of a span of time up to now, with the series that have samples at
// a time. The end of each tier is in its write-ahead log, as after a kill. No controller may have the directory open.
func Replace(ctx context.Context, dir string, span time.Duration, at, now time.Time) (made Made, err error) {
	quiet := slog.New(slog.DiscardHandler)
	all, err := seriesAt(ctx, dir, at, quiet)
	if err != nil {
		return made, err
	}
	made.Series = len(all)
	for _, spec := range retention.Tiers {
		m := &maker{spec: spec, dir: filepath.Join(dir, spec.Name), series: all,
			from: now.Add(-min(span, spec.Keep)).Truncate(spec.Step), to: now.Truncate(spec.Step)}
		if err := m.make(ctx, quiet); err != nil {
			return made, fmt.Errorf("tier %s: %w", spec.Name, err)
		}
		made.Samples += m.samples
	}
	return made, nil
}

// series is one, with what it counts in a step.
type series struct {
	labels labels.Labels
	// value is that of a gauge, and what a counter counts in a step.
	value     float64
	counts    bool
	histogram *histogram.Histogram // that is counted in a step; nil: the series has numbers
}

// seriesAt reads the series of the finest tier, sorted by their labels.
func seriesAt(ctx context.Context, dir string, at time.Time, log *slog.Logger) (all []series, err error) {
	finest := retention.Tiers[0]
	db, err := tsdb.Open(filepath.Join(dir, finest.Name), log, nil, finest.Options(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	querier, err := db.Querier(at.Add(-2*retention.HistogramEvery).UnixMilli(), at.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer querier.Close()
	set := querier.Select(ctx, true, nil, labels.MustNewMatcher(labels.MatchNotEqual, labels.MetricName, ""))
	for set.Next() {
		one, iterator := series{labels: set.At().Labels()}, set.At().Iterator(nil)
		name := one.labels.Get(labels.MetricName)
		one.counts = strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_sum")
		found := false
		for kind := iterator.Next(); kind != chunkenc.ValNone; kind = iterator.Next() {
			if kind == chunkenc.ValHistogram {
				_, one.histogram = iterator.AtHistogram(nil)
				found = !value.IsStaleNaN(one.histogram.Sum)
			} else {
				_, one.value = iterator.At()
				found = !value.IsStaleNaN(one.value)
			}
		}
		if err := iterator.Err(); err != nil {
			return nil, err
		}
		if found {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b series) int { return labels.Compare(a.labels, b.labels) })
	return all, set.Err()
}

// maker makes one tier.
type maker struct {
	spec     retention.Tier
	dir      string
	series   []series
	from, to time.Time
	samples  int
}

func (m *maker) make(ctx context.Context, log *slog.Logger) error {
	if err := os.RemoveAll(m.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	// A tier writes a block when its head is half a block longer than that.
	head := m.to.Add(-m.spec.Block / 2).Truncate(m.spec.Block)
	if head.Before(m.from) {
		head = m.from
	}
	for begin := m.from; begin.Before(head); {
		end := begin.Truncate(m.spec.Longest).Add(m.spec.Longest)
		if end.After(head) {
			end = head
		}
		if err := m.block(ctx, begin, end); err != nil {
			return err
		}
		begin = end
	}
	return m.head(ctx, head, log)
}

// stepsOf are the numbers of the steps from a time on and before another, counted from the begin.
func (m *maker) stepsOf(begin, end time.Time) (first, last int) {
	return int(begin.Sub(m.from) / m.spec.Step), int(end.Sub(m.from) / m.spec.Step)
}

func (m *maker) timeOf(step int) int64 {
	return m.from.Add(time.Duration(step) * m.spec.Step).UnixMilli()
}

// has tells whether a series has a sample of a step.
func (m *maker) has(one *series, step int) bool {
	if m.spec.Step >= retention.HistogramEvery || one.histogram == nil {
		return true
	}
	return m.timeOf(step)%retention.HistogramEvery.Milliseconds() == 0
}

func (one *series) valueOf(step int) float64 {
	if one.counts {
		return one.value * float64(step)
	}
	return one.value
}

func (one *series) histogramOf(step int) *histogram.Histogram {
	h := one.histogram.Copy()
	h.Count, h.ZeroCount, h.Sum = h.Count*uint64(step), h.ZeroCount*uint64(step), h.Sum*float64(step)
	for i := range h.PositiveBuckets {
		h.PositiveBuckets[i] *= int64(step)
	}
	return h
}

// chunkSteps is the number of steps of a chunk, as Prometheus makes them.
const chunkSteps = 120

// numbers are what series have in common that count the same: then their chunks are the same.
type numbers struct {
	value  float64
	counts bool
	first  int
}

// block writes the samples from a time on and before another.
func (m *maker) block(ctx context.Context, begin, end time.Time) (err error) {
	id := ulid.MustNew(ulid.Timestamp(end), rand.Reader)
	dir := filepath.Join(m.dir, id.String())
	data, err := chunks.NewWriter(filepath.Join(dir, "chunks"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	names, err := index.NewWriter(ctx, filepath.Join(dir, "index"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, names.Close()) }()
	if err := addSymbols(names, m.series); err != nil {
		return err
	}
	meta := tsdb.BlockMeta{ULID: id, MinTime: begin.UnixMilli(), MaxTime: end.UnixMilli(), Version: 1,
		Compaction: tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}}}
	meta.Stats.NumSeries = uint64(len(m.series))
	same := map[numbers]chunks.Meta{}
	first, last := m.stepsOf(begin, end)
	for i := range m.series {
		one := &m.series[i]
		var list []chunks.Meta
		for step := first; step < last; step += chunkSteps {
			chunk, err := m.chunk(one, step, min(step+chunkSteps, last), same)
			if err != nil {
				return err
			}
			if samples := chunk.Chunk.NumSamples(); samples > 0 {
				meta.Stats.NumSamples += uint64(samples)
				list = append(list, chunk)
			}
		}
		meta.Stats.NumChunks += uint64(len(list))
		if err := data.WriteChunks(list...); err != nil {
			return err
		}
		if err := names.AddSeries(storage.SeriesRef(i), one.labels, list...); err != nil {
			return err
		}
	}
	m.samples += int(meta.Stats.NumSamples)
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "meta.json"), text, 0o600)
}

func addSymbols(to *index.Writer, all []series) error {
	symbols := map[string]bool{}
	for _, one := range all {
		one.labels.Range(func(l labels.Label) { symbols[l.Name], symbols[l.Value] = true, true })
	}
	for _, symbol := range slices.Sorted(maps.Keys(symbols)) {
		if err := to.AddSymbol(symbol); err != nil {
			return err
		}
	}
	return nil
}

// chunk encodes the samples of some steps.
func (m *maker) chunk(one *series, first, last int, same map[numbers]chunks.Meta) (made chunks.Meta, err error) {
	key := numbers{one.value, one.counts, first}
	if known, is := same[key]; is && one.histogram == nil {
		return known, nil
	}
	if made.Chunk = chunkenc.Chunk(chunkenc.NewXORChunk()); one.histogram != nil {
		made.Chunk = chunkenc.NewHistogramChunk()
	}
	appender, err := made.Chunk.Appender()
	if err != nil {
		return made, err
	}
	for step := first; step < last; step++ {
		if !m.has(one, step) {
			continue
		}
		at := m.timeOf(step)
		made.MinTime, made.MaxTime = cmp.Or(made.MinTime, at), at
		if one.histogram == nil {
			appender.Append(0, at, one.valueOf(step))
			continue
		}
		cut, _, next, err := appender.AppendHistogram(nil, 0, at, one.histogramOf(step), true)
		if err != nil || cut != nil {
			return made, fmt.Errorf("%s: its chunk ends at step %d: %w", one.labels, step, err)
		}
		appender = next
	}
	if one.histogram == nil {
		same[key] = made
	}
	return made, nil
}

// head appends the samples from a time on, and writes no block of them.
func (m *maker) head(ctx context.Context, begin time.Time, log *slog.Logger) error {
	options := m.spec.Options()
	options.EnableMemorySnapshotOnShutdown = false
	db, err := tsdb.Open(m.dir, log, nil, options, nil)
	if err != nil {
		return err
	}
	db.DisableCompactions()
	refs := make([]storage.SeriesRef, len(m.series))
	first, last := m.stepsOf(begin, m.to)
	for step := first; step <= last && err == nil; step++ {
		err = errors.Join(ctx.Err(), m.append(ctx, db, step, refs))
	}
	return errors.Join(err, db.Close())
}

func (m *maker) append(ctx context.Context, to *tsdb.DB, step int, refs []storage.SeriesRef) error {
	appender := to.AppenderV2(ctx)
	for i := range m.series {
		one := &m.series[i]
		if !m.has(one, step) {
			continue
		}
		var times *histogram.Histogram
		if one.histogram != nil {
			times = one.histogramOf(step)
		}
		ref, err := appender.Append(refs[i], one.labels, 0, m.timeOf(step), one.valueOf(step), times, nil,
			storage.AppendV2Options{})
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", one.labels, err), appender.Rollback())
		}
		refs[i] = ref
		m.samples++
	}
	return appender.Commit()
}
