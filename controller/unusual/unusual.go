// Package unusual finds metrics of virtual services, pools, servers and engines that are unlike their habits: traffic
// by the time of day, and times and errors by the last hour. It looks each minute at what live and the fleet have
// counted, and tells of what it finds as events; health scores take points for it, and charts show the bands of what is
// usual.
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
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/turns"
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
	least    float64 // what is below is noise
	share    float64 // what is below this share of the requests or connections is noise, too
	// rising: only more than usual is unusual. Servers without errors, and faster ones, are welcome.
	rising bool
}

// ofServices are those that are counted live. The first four are of those that Avi marks as having a season.
var ofServices = []metric{
	{id: "l4_client.avg_bandwidth", seasonal: true, name: "bandwidth"},
	{id: "l4_client.avg_new_established_conns", seasonal: true, name: "new connections"},
	{id: "l4_client.max_open_conns", seasonal: true, name: "open connections"},
	{id: "l7_client.avg_complete_responses", seasonal: true, name: "responses"},
	{id: "l7_client.avg_client_txn_latency", name: "mean time of requests"},
	{id: "weir.p99_total_time", name: "99 % of the times of requests"},
}

// Numbers are what is counted live.
type Numbers interface {
	// EachNewest calls take with each object and its newest values of some metrics; NaN: no request ended.
	EachNewest(kind series.Kind, metrics []string, take func(uuid string, values []float64)) (live bool)
}

// Watch looks for what is unusual. It is safe for concurrent use.
type Watch struct {
	fleet   *fleet.Fleet
	numbers Numbers
	events  *events.Log
	now     func() time.Time

	mu       sync.Mutex
	services map[string]*service // by uuid; those that had traffic
	pools    map[string]*pool    // the same
	engines  map[string]*engine  // by uuid

	// Only Look uses them.
	turns    map[string]fleet.Turn // of each pool at the last look
	lookedAt time.Time

	// EngineName is what an engine is called; false: it is deleted. Set it before Run; nil: nobody looks at engines.
	EngineName func(uuid string) (name string, exists bool)
}

// New returns a watch that knows no habits. Run learns them.
func New(fleet *fleet.Fleet, numbers Numbers, told *events.Log, now func() time.Time) *Watch {
	return &Watch{fleet: fleet, numbers: numbers, events: told, now: now, services: map[string]*service{},
		pools: map[string]*pool{}, engines: map[string]*engine{}}
}

// service is a virtual service with its habits.
type service struct {
	object    *model.VirtualService
	pool      *model.Pool
	changedAt time.Time
	busyAt    time.Time
	habits
}

// habits are those of one object.
type habits struct {
	metrics []metric
	of      []watched
}

func habitsOf(metrics []metric) habits {
	h := habits{metrics, make([]watched, len(metrics))}
	for i, metric := range metrics {
		h.of[i].habit = habit.New(metric.seasonal)
	}
	return h
}

// watched is one metric of an object.
type watched struct {
	habit *habit.Habit
	sum   float64 // of the samples of this minute
	count int
	bands *bands  // nil: it was never known what is usual
	usual float64 // the mean, as of the last minute

	unusualAt time.Time // when it last was; zero: it is usual
	since     time.Time
	text      string
	told      bool // an event tells that it is unusual
}

// add takes a sample.
func (m *watched) add(value float64) { m.sum, m.count = m.sum+value, m.count+1 }

func newService() *service { return &service{habits: habitsOf(ofServices)} }

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	last := w.now().Truncate(lookEvery)
	turns.Run(ctx, w.now, sampleEvery, turns.Unusual, func(at time.Time) {
		w.sample()
		w.sampleEngines()
		if minute := at.Truncate(lookEvery); minute.After(last) {
			last = minute
			w.Look(minute)
		}
	})
	return nil
}

// sample takes the newest values.
func (w *Watch) sample() {
	w.numbers.EachNewest(series.VirtualService, idsOf(ofServices), func(uuid string, values []float64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := w.services[uuid]
		for i, value := range values {
			if value != value || s == nil && value == 0 { // NaN: no request ended
				continue
			}
			if s == nil {
				s = newService()
				w.services[uuid] = s
			}
			s.of[i].add(value)
		}
	})
}

func idsOf(metrics []metric) (ids []string) {
	for _, metric := range metrics {
		ids = append(ids, metric.id)
	}
	return ids
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
	readings := w.readPools()
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
	w.judgePools(readings, at)
	w.judgeEngines(at)
	w.lookedAt = at
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
	for i, metric := range ofServices {
		if metric.id == "l7_client.avg_complete_responses" || metric.id == "l4_client.avg_new_established_conns" {
			rate = max(rate, s.of[i].mean())
		}
	}
	if rate > 0 {
		s.busyAt = at
	}
	quiet := isOff(s.object.Analytics) || rate < busyLeast || at.Sub(s.changedAt) < settles
	w.look(s.habits, s.about(), quiet, at)
}

// isOff tells whether an operator wants to hear nothing of anomalies.
func isOff(of *kinds.AnalyticsProfile) bool { return of != nil && !of.EnableAdvancedAnalytics }

// subject is what events about an object have in common.
type subject struct {
	events.Entry
	rate float64 // of its requests or connections, per second
	// left is how many more events may tell that something is unusual, in this minute; nil: any number.
	left *int
}

// about is the subject of events about a virtual service.
func (s *service) about() subject {
	return subject{Entry: events.Entry{Kind: "VIRTUALSERVICE", UUID: s.object.UUID, Name: s.object.Name,
		Tenant: s.object.Tenant()}}
}

// look judges the metrics of one object in the minute that has ended.
func (w *Watch) look(h habits, about subject, quiet bool, at time.Time) {
	for i := range h.of {
		one, metric := &h.of[i], &h.metrics[i]
		if one.count == 0 { // nothing was counted, or no request ended
			if one.lasted(at) {
				w.end(h, i, about, metric.name+" cannot be measured any more: nothing is counted")
			}
			continue
		}
		value := one.mean()
		least := max(metric.least, metric.share*about.rate)
		noise := value < least && !one.knows(least) || metric.rising && value <= one.usual
		verdict := one.habit.Look(at, value, quiet || noise)
		one.sum, one.count = 0, 0
		if verdict.Known {
			one.note(at, verdict.Band)
		}
		w.turn(h, i, about, value, verdict, at)
	}
}

// knows tells whether what is usual reaches a value.
func (m *watched) knows(value float64) bool { return m.usual >= value }

func (m *watched) mean() float64 {
	if m.count == 0 {
		return 0
	}
	return m.sum / float64(m.count)
}

// turn notes whether a metric is unusual, and tells when that begins and ends.
func (w *Watch) turn(h habits, i int, about subject, value float64, verdict habit.Verdict, at time.Time) {
	one := &h.of[i]
	one.usual = verdict.Mean
	switch {
	case verdict.Unusual:
		if one.unusualAt.IsZero() {
			one.since = at
		}
		if one.unusualAt = at; verdict.Off != 0 {
			one.text = textOf(h.metrics[i], value, verdict)
		}
		if !one.told && about.mayTell() {
			one.told = true
			w.tell(h, i, about, "ANOMALY", one.text)
		}
	case one.lasted(at):
		w.end(h, i, about, h.metrics[i].name+" is as usual again")
	}
}

// mayTell tells whether an event may say that something is unusual, which is then taken as said.
func (s subject) mayTell() bool {
	if s.left == nil {
		return true
	}
	*s.left--
	return *s.left >= 0
}

// lasted tells whether a metric was unusual, and that is long ago.
func (m *watched) lasted(at time.Time) bool {
	return !m.unusualAt.IsZero() && at.Sub(m.unusualAt) > lingers
}

func (w *Watch) end(h habits, i int, about subject, why string) {
	one := &h.of[i]
	one.unusualAt = time.Time{}
	if one.told {
		one.told = false
		w.tell(h, i, about, "ANOMALY_ENDED", why)
	}
}

// endAll ends what is unusual about an object.
func (w *Watch) endAll(h habits, about subject, why string) {
	for i := range h.of {
		if !h.of[i].unusualAt.IsZero() {
			w.end(h, i, about, why)
		}
	}
}

// forget forgets the habits of a virtual service. What is unusual about it ends.
func (w *Watch) forget(uuid, why string) {
	s := w.services[uuid]
	if s.object != nil {
		w.endAll(s.habits, s.about(), why)
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

// tell adds an event. One about a server of a pool has the server as its part.
func (w *Watch) tell(h habits, i int, about subject, id, message string) {
	event := about.Entry
	event.ID, event.Message, event.Part = id, message, h.metrics[i].id
	if about.Part != "" {
		event.Message, event.Part = "server "+about.Part+": "+message, about.Part+" "+event.Part
	}
	w.events.Add(event)
}

// habitsOf are the habits of an object, or of a server of a pool; none: nothing is known of it.
func (w *Watch) habitsOf(uuid, server string) habits {
	if p := w.pools[uuid]; p != nil {
		return p.habitsOf(server)
	}
	if s := w.services[uuid]; s != nil {
		return s.habits
	}
	if e := w.engines[uuid]; e != nil {
		return e.habits
	}
	return habits{}
}

// Unusual returns what is unusual about an object now, for its health score.
func (w *Watch) Unusual(uuid string) (all []score.Anomalous) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.habitsOf(uuid, "")
	for i, metric := range h.metrics {
		if !h.of[i].unusualAt.IsZero() {
			all = append(all, score.Anomalous{Metric: metric.id, High: metric.seasonal, Text: h.of[i].text})
		}
	}
	return all
}
