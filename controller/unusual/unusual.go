// Package unusual finds metrics of virtual services that are unlike their habits: traffic by the time of day, and times
// by the last hour. It looks each minute at what live counts, and tells of what it finds as events; health scores take
// points for it, and charts show the bands of what is usual.
//
// It belongs to the leader. Habits are in memory: the next leader reads the days before from the history.
package unusual

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/unusual/habit"
)

const (
	sampleEvery = 5 * time.Second
	lookEvery   = time.Minute
	// lingers is how long something counts as unusual after it was.
	lingers = 5 * time.Minute
	// settles is how long nothing is said after a change of an object: its traffic changes with it.
	settles = 10 * time.Minute
	// busyLeast is the rate, per second, below which nothing is said: a few more or fewer are noise.
	busyLeast = 10
	// idleMost is how long the habits of a virtual service without traffic are kept.
	idleMost = 48 * time.Hour
)

// metric is a metric that has habits.
type metric struct {
	id       string
	seasonal bool // it follows the time of day, and is of high priority
	name     string
}

// metrics are those that are counted live. The first four are of those that Avi marks as having a season.
var metrics = [...]metric{
	{"l4_client.avg_bandwidth", true, "bandwidth"},
	{"l4_client.avg_new_established_conns", true, "new connections"},
	{"l4_client.max_open_conns", true, "open connections"},
	{"l7_client.avg_complete_responses", true, "responses"},
	{"l7_client.avg_client_txn_latency", false, "mean time of requests"},
	{"weir.p99_total_time", false, "99 % of the times of requests"},
}

// Numbers are what is counted live.
type Numbers interface {
	Newest(kind series.Kind, metric string) (values map[string]float64, live bool)
}

// Watch looks for what is unusual. It is safe for concurrent use.
type Watch struct {
	fleet   *fleet.Fleet
	numbers Numbers
	events  *events.Log
	now     func() time.Time

	mu       sync.Mutex
	services map[string]*service // by uuid; those that had traffic
}

// New returns a watch that knows no habits. Run learns them.
func New(fleet *fleet.Fleet, numbers Numbers, told *events.Log, now func() time.Time) *Watch {
	return &Watch{fleet: fleet, numbers: numbers, events: told, now: now, services: map[string]*service{}}
}

// service is a virtual service with its habits.
type service struct {
	object    *model.VirtualService
	pool      *model.Pool
	changedAt time.Time
	busyAt    time.Time
	of        [len(metrics)]watched
}

// watched is one metric of a virtual service.
type watched struct {
	habit *habit.Habit
	sum   float64 // of the samples of this minute
	count int
	bands [bandsKept]stepBand

	unusualAt time.Time // when it last was; zero: it is usual
	since     time.Time
	text      string
}

func newService() *service {
	s := &service{}
	for i, metric := range metrics {
		s.of[i].habit = habit.New(metric.seasonal)
	}
	return s
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	last := w.now().Truncate(lookEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		w.sample()
		if minute := w.now().Truncate(lookEvery); minute.After(last) {
			last = minute
			w.Look(minute)
		}
	}
}

// sample takes the newest values.
func (w *Watch) sample() {
	for i, metric := range metrics {
		values, _ := w.numbers.Newest(series.VirtualService, metric.id)
		w.mu.Lock()
		for uuid, value := range values {
			s := w.services[uuid]
			if value != value || s == nil && value == 0 { // NaN: no request ended
				continue
			}
			if s == nil {
				s = newService()
				w.services[uuid] = s
			}
			s.of[i].sum, s.of[i].count = s.of[i].sum+value, s.of[i].count+1
		}
		w.mu.Unlock()
	}
}

// Look judges the minute that has ended.
func (w *Watch) Look(at time.Time) {
	// Not under the own lock: who grades holds the lock of the fleet, and asks what is unusual.
	objects := map[string]*model.VirtualService{}
	w.fleet.Read(func(known *fleet.Known) {
		for vs := range known.VirtualServices() {
			objects[vs.UUID] = vs
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for uuid, s := range w.services {
		vs := objects[uuid]
		if vs == nil {
			w.forget(uuid, "it is deleted")
			continue
		}
		s.meet(vs, at)
		w.judge(s, at)
		if at.Sub(s.busyAt) > idleMost {
			w.forget(uuid, "it has no traffic any more")
		}
	}
}

// meet notes whether an operator has changed the virtual service, or its pool.
func (s *service) meet(vs *model.VirtualService, at time.Time) {
	if s.object == nil {
		s.busyAt = at
	} else if s.object != vs || s.pool != vs.Pool {
		s.changedAt = at
	}
	s.object, s.pool = vs, vs.Pool
}

func (w *Watch) judge(s *service, at time.Time) {
	rate := 0.0
	for i, metric := range metrics {
		if metric.id == "l7_client.avg_complete_responses" || metric.id == "l4_client.avg_new_established_conns" {
			rate = max(rate, s.of[i].mean())
		}
	}
	if rate > 0 {
		s.busyAt = at
	}
	off := s.object.Analytics != nil && !s.object.Analytics.EnableAdvancedAnalytics
	quiet := off || rate < busyLeast || at.Sub(s.changedAt) < settles
	for i := range metrics {
		one := &s.of[i]
		if one.count == 0 { // nothing was counted, or no request ended
			if one.lasted(at) {
				w.end(s, i, metrics[i].name+" cannot be measured any more: nothing is counted")
			}
			continue
		}
		value := one.mean()
		verdict := one.habit.Look(at, value, quiet)
		one.sum, one.count = 0, 0
		if verdict.Known {
			one.note(at, verdict.Band)
		}
		w.turn(s, i, value, verdict, at)
	}
}

func (m *watched) mean() float64 {
	if m.count == 0 {
		return 0
	}
	return m.sum / float64(m.count)
}

// turn notes whether a metric is unusual, and tells when that begins and ends.
func (w *Watch) turn(s *service, i int, value float64, verdict habit.Verdict, at time.Time) {
	one, was := &s.of[i], !s.of[i].unusualAt.IsZero()
	switch {
	case verdict.Unusual:
		if one.unusualAt = at; verdict.Off != 0 {
			one.text = textOf(metrics[i], value, verdict)
		}
		if !was {
			one.since = at
			w.tell(s, i, "ANOMALY", one.text)
		}
	case one.lasted(at):
		w.end(s, i, metrics[i].name+" is as usual again")
	}
}

// lasted tells whether a metric was unusual, and that is long ago.
func (m *watched) lasted(at time.Time) bool {
	return !m.unusualAt.IsZero() && at.Sub(m.unusualAt) > lingers
}

func (w *Watch) end(s *service, i int, why string) {
	s.of[i].unusualAt = time.Time{}
	w.tell(s, i, "ANOMALY_ENDED", why)
}

// forget forgets the habits of a virtual service. What is unusual about it ends.
func (w *Watch) forget(uuid, why string) {
	s := w.services[uuid]
	for i := range metrics {
		if !s.of[i].unusualAt.IsZero() {
			w.end(s, i, why)
		}
	}
	delete(w.services, uuid)
}

func textOf(of metric, value float64, verdict habit.Verdict) string {
	where, habit, off := "above", "the last hour's", verdict.Off
	if off < 0 {
		where, off = "below", -off
	}
	if verdict.Daily {
		habit = "this time of day's"
	}
	return fmt.Sprintf("%s is %.4g, %.1f σ %s %s habit of %.4g", of.name, value, off, where, habit, verdict.Mean)
}

func (w *Watch) tell(s *service, i int, id, message string) {
	w.events.Add(events.Entry{ID: id, Kind: "VIRTUALSERVICE", UUID: s.object.UUID, Name: s.object.Name,
		Tenant: s.object.Tenant(), Message: message, Part: metrics[i].id})
}

// Unusual returns what is unusual about a virtual service now, for its health score.
func (w *Watch) Unusual(uuid string) (all []score.Anomalous) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[uuid]
	if s == nil {
		return nil
	}
	for i, metric := range metrics {
		if !s.of[i].unusualAt.IsZero() {
			all = append(all, score.Anomalous{Metric: metric.id, High: metric.seasonal, Text: s.of[i].text})
		}
	}
	return all
}
