package unusual

import (
	"context"
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

// stepBand is what was usual in five minutes.
type stepBand struct {
	step      int64 // since 1970; 0: none
	low, high float32
}

func stepOf(at time.Time) int64 { return at.Unix() / int64(bandStep.Seconds()) }

func (m *watched) note(at time.Time, band habit.Band) {
	step := stepOf(at)
	m.bands[step%bandsKept] = stepBand{step, float32(band.Low()), float32(band.High())}
}

// Band returns what was usual at a time in the last six hours. false: it is not known.
func (w *Watch) Band(uuid, id string, at time.Time) (low, high float64, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.habitsOf(uuid)
	for i, metric := range h.metrics {
		if metric.id == id {
			step := stepOf(at)
			band := h.of[i].bands[step%bandsKept]
			return float64(band.low), float64(band.high), step > 0 && band.step == step
		}
	}
	return 0, 0, false
}

// Anomaly is something unusual that lasts.
type Anomaly struct {
	Metric string
	Text   string
	Since  time.Time
	High   bool // of high priority
}

// Anomalies returns what is unusual about an object now.
func (w *Watch) Anomalies(uuid string) (all []Anomaly) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.habitsOf(uuid)
	for i, metric := range h.metrics {
		if one := &h.of[i]; !one.unusualAt.IsZero() {
			all = append(all, Anomaly{metric.id, one.text, one.since, metric.seasonal})
		}
	}
	return all
}

// Past answers questions about the history.
type Past func(ctx context.Context, questions []series.Question) ([]series.Answer, error)

const (
	recalled     = 60 * time.Hour
	recallAtOnce = 20 // virtual services
	recallMost   = 1000
	recallRetry  = 15 * time.Second
)

// Recall learns habits from the history, some virtual services at a time. It waits until the history is open.
func (w *Watch) Recall(ctx context.Context, past Past) error {
	var uuids []string
	for retry := time.NewTimer(recallRetry); ; retry.Reset(recallRetry) {
		select {
		case <-ctx.Done():
			return nil
		case <-retry.C:
		}
		if len(uuids) == 0 {
			uuids = w.known()
		}
		for len(uuids) > 0 && ctx.Err() == nil {
			some := uuids[:min(len(uuids), recallAtOnce)]
			if err := w.recall(ctx, past, some); err != nil {
				break // the history is not open yet, or busy
			}
			if uuids = uuids[len(some):]; len(uuids) == 0 {
				return nil
			}
		}
	}
}

func (w *Watch) known() (uuids []string) {
	w.fleet.Read(func(known *fleet.Known) {
		for vs := range known.VirtualServices() {
			if len(uuids) < recallMost {
				uuids = append(uuids, vs.UUID)
			}
		}
	})
	return uuids
}

func (w *Watch) recall(ctx context.Context, past Past, uuids []string) error {
	stop := w.now().UTC().Truncate(bandStep)
	for i, metric := range ofServices {
		if !metric.seasonal {
			continue
		}
		answers, err := past(ctx, []series.Question{{Metric: metric.id, Kind: series.VirtualService, UUIDs: uuids,
			Start: stop.Add(-recalled), Stop: stop, Step: bandStep}})
		if err != nil {
			return err
		}
		w.mu.Lock()
		for _, one := range answers[0].Series {
			w.learn(one, i)
		}
		w.mu.Unlock()
	}
	return nil
}

// learn gives the past of a metric to its habit, if that had traffic.
func (w *Watch) learn(past series.Series, i int) {
	s := w.services[past.UUID]
	made := habit.New(true)
	busy := false
	for _, point := range past.Points {
		if !point.Null {
			busy = busy || point.Value > 0
			made.Recall(point.At.Add(-bandStep), point.Value) // a point is about the step before it
		}
	}
	if !busy {
		return
	}
	if s == nil {
		s = newService()
		w.services[past.UUID] = s
	}
	s.of[i].habit = made
}
