package unusual

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/unusual/habit"
)

const (
	bandStep = habit.StepMinutes * time.Minute
	// bandsKept are those of six hours.
	bandsKept = 72
)

// bands are what was usual in steps of five minutes.
type bands struct {
	newest int64 // its number since 1970
	of     [bandsKept]span
}

// span is between what a value was usual. NaN: it was not known.
type span struct{ low, high float32 }

var unknown = span{float32(math.NaN()), float32(math.NaN())}

func stepOf(at time.Time) int64 { return at.Unix() / int64(bandStep.Seconds()) }

// note keeps what was usual in the step of a time. Times never go back by more than a clock does.
func (m *watched) note(at time.Time, band habit.Band) {
	step := stepOf(at)
	if m.bands == nil {
		m.bands = &bands{newest: step - bandsKept}
	}
	for m.bands.newest = max(m.bands.newest, step-bandsKept); m.bands.newest < step; {
		m.bands.newest++
		m.bands.of[m.bands.newest%bandsKept] = unknown
	}
	m.bands.of[step%bandsKept] = span{float32(band.Low()), float32(band.High())}
}

// at returns what was usual in a step; false: it is not known.
func (b *bands) at(step int64) (span, bool) {
	if b == nil || step > b.newest || step <= b.newest-bandsKept {
		return span{}, false
	}
	one := b.of[step%bandsKept]
	return one, one.low == one.low
}

// Band returns what was usual at a time in the last six hours, of an object or of a server of a pool ("": of all its
// servers together). false: it is not known.
func (w *Watch) Band(uuid, server, id string, at time.Time) (low, high float64, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.habitsOf(uuid, server)
	for i, metric := range h.metrics {
		if metric.id == id {
			band, known := h.of[i].bands.at(stepOf(at))
			return float64(band.low), float64(band.high), known
		}
	}
	return 0, 0, false
}

// Anomaly is something unusual that lasts.
type Anomaly struct {
	Server string // of a pool; empty: it is about the whole object
	Metric string
	Text   string
	Since  time.Time
	High   bool // of high priority
}

// Anomalies returns what is unusual about an object now. Those of a pool are followed by those of its servers.
func (w *Watch) Anomalies(uuid string) (all []Anomaly) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = w.habitsOf(uuid, "").anomalies("")
	if p := w.pools[uuid]; p != nil {
		for _, id := range slices.Sorted(maps.Keys(p.servers)) {
			all = append(all, p.servers[id].anomalies(id)...)
		}
	}
	return all
}

func (h habits) anomalies(server string) (all []Anomaly) {
	for i, metric := range h.metrics {
		if one := &h.of[i]; !one.unusualAt.IsZero() {
			all = append(all, Anomaly{server, metric.id, one.text, one.since, metric.seasonal})
		}
	}
	return all
}

// Past answers questions about the history.
type Past func(ctx context.Context, questions []series.Question) ([]series.Answer, error)

const (
	recalled     = 60 * time.Hour
	recallAtOnce = 20 // objects
	recallMost   = 1000
	recallRetry  = 15 * time.Second
)

// recalls are the metrics that are learned from the history, by kind of object.
var recalls = []struct {
	kind    series.Kind
	metrics []metric
}{{series.VirtualService, ofServices}, {series.Pool, ofPools}}

// Recall learns habits from the history, some objects at a time. It waits until the history is open.
func (w *Watch) Recall(ctx context.Context, past Past) error {
	for _, each := range recalls {
		w.recallAll(ctx, past, each.kind, each.metrics)
	}
	return nil
}

// recallAll learns the habits of all objects of a kind.
func (w *Watch) recallAll(ctx context.Context, past Past, kind series.Kind, metrics []metric) {
	var uuids []string
	for retry := time.NewTimer(recallRetry); ; retry.Reset(recallRetry) {
		select {
		case <-ctx.Done():
			return
		case <-retry.C:
		}
		if len(uuids) == 0 {
			uuids = w.known(kind)
		}
		for len(uuids) > 0 && ctx.Err() == nil {
			some := uuids[:min(len(uuids), recallAtOnce)]
			if err := w.recall(ctx, past, kind, metrics, some); err != nil {
				break // the history is not open yet, or busy
			}
			if uuids = uuids[len(some):]; len(uuids) == 0 {
				return
			}
		}
	}
}

func (w *Watch) known(kind series.Kind) (uuids []string) {
	w.fleet.Read(func(known *fleet.Known) {
		m := known.Model()
		if kind == series.Pool {
			uuids = firstOf(m.Pools, recallMost)
		} else {
			uuids = firstOf(m.VirtualServices, recallMost)
		}
	})
	return uuids
}

// firstOf returns the keys of the first objects, at most so many.
func firstOf[T interface{ Key() string }](objects []T, most int) (keys []string) {
	for _, one := range objects[:min(len(objects), most)] {
		keys = append(keys, one.Key())
	}
	return keys
}

func (w *Watch) recall(ctx context.Context, past Past, kind series.Kind, metrics []metric, uuids []string) error {
	stop := w.now().UTC().Truncate(bandStep)
	for i, metric := range metrics {
		if !metric.seasonal {
			continue
		}
		answers, err := past(ctx, []series.Question{{Metric: metric.id, Kind: kind, UUIDs: uuids,
			Start: stop.Add(-recalled), Stop: stop, Step: bandStep}})
		if err != nil {
			return err
		}
		w.mu.Lock()
		for _, one := range answers[0].Series {
			w.learn(kind, one, i)
		}
		w.mu.Unlock()
	}
	return nil
}

// learn gives the past of a metric to its habit, if that had traffic.
func (w *Watch) learn(kind series.Kind, past series.Series, i int) {
	made := habit.New(true)
	busy := false
	for _, point := range past.Points {
		if !point.Null {
			busy = busy || point.Value > 0
			made.Recall(point.At.Add(-bandStep), point.Value) // a point is about the step before it
		}
	}
	switch {
	case !busy:
	case kind == series.Pool:
		if p := w.poolOf(past.UUID); p != nil {
			p.of[i].habit = made
		}
	default:
		if w.services[past.UUID] == nil {
			w.services[past.UUID] = newService()
		}
		w.services[past.UUID].of[i].habit = made
	}
}
