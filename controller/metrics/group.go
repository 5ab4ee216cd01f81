package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/metrics/retention"
)

// labelled is what the series of an object are called by.
type labelled struct{ service, tenant, tenantUUID, pool, server, engine, uuid string }

// group is the series of one object.
type group struct {
	kind    string // "service"
	of      labelled
	entries map[string]*entry // by name, with its own label
	movedAt time.Time
	idle    bool // nothing has moved for idleAfter: it gets no samples
	ended   bool // the object is gone
	kept    bool // it got samples

	turn     fleet.Turn   // of what was counted when it was last read
	times    *fleet.Times // of a virtual service, since the collector began; nil: none
	timings  map[string]fleet.Timing
	judged   judged
	points   map[string]float64 // sums for an Apdex, by the series
	server   *serverTimes       // nil: none
	odometer odometer           // of an engine
	machine  machine
	own      ownMachine // of the controller
}

func newGroup(kind string) *group { return &group{kind: kind, entries: map[string]*entry{}} }

// sort is what a series is.
type sort int

const (
	counter sort = iota // never falls while this controller runs
	mean                // a gauge; coarse tiers have its mean
	peakOf              // a gauge; coarse tiers have its largest value
	times               // a histogram
)

// entry is one series.
type entry struct {
	name      string
	own       []string // labels of its own, such as cause: names and values in turn
	sort      sort
	value     float64
	base      float64 // the value of a counter before the object began to move
	absent    bool    // a gauge of which there is no value now
	counted   bool    // a gauge that changes only with what was counted
	histogram *histogram.Histogram
	labels    labels.Labels
	in        [len(retention.Tiers)]inTier
}

// inTier is what a tier knows of a series.
type inTier struct {
	ref   storage.SeriesRef
	live  bool    // has samples since the object began to move
	sum   float64 // of a gauge since the last sample
	count int
	high  float64
}

// readings takes the numbers of one object.
type readings struct {
	group *group
	moved bool
	// counting: the numbers are those that engines count, so they stay the same as long as nothing is counted.
	counting bool
}

// repeat takes the gauges once more that change only with what was counted. Counters are as they were.
func (r *readings) repeat() {
	for _, e := range r.group.entries {
		if e.counted && !e.absent {
			e.hold(e.value)
		}
	}
}

// counter takes a count by its name without "_total".
func (r *readings) counter(name string, value int64) { r.total(name+"_total", float64(value)) }

// counterOf takes a count that has labels of its own: names and values in turn.
func (r *readings) counterOf(name string, value int64, own ...string) {
	r.total(name+"_total", float64(value), own...)
}

func (r *readings) total(name string, value float64, own ...string) {
	key := name
	if len(own) > 0 {
		key += "{" + strings.Join(own, "\x00")
	}
	e := r.group.entries[key]
	if e == nil {
		if value == 0 {
			return // it never moved
		}
		e = &entry{name: name, own: own, sort: counter}
		r.group.entries[key] = e
	}
	if value > e.value { // it falls only when an object is counted anew
		r.moved = true
	}
	e.value = value
}

// gauge takes a value of now. It makes no series while the object has none.
func (r *readings) gauge(name string, value float64) { r.level(name, mean, value, false) }

// peak takes a value of now whose largest values count.
func (r *readings) peak(name string, value float64) { r.level(name, peakOf, value, false) }

// level takes a gauge. If always is set, it makes a series for an object that has none also if the value is 0.
func (r *readings) level(name string, sort sort, value float64, always bool) {
	e := r.group.entries[name]
	if e == nil {
		if value == 0 && len(r.group.entries) == 0 && !always {
			return
		}
		e = &entry{name: name, sort: sort}
		r.group.entries[name] = e
	}
	if value != e.value {
		r.moved = true
	}
	e.value, e.absent, e.counted = value, false, r.counting
	e.hold(value)
}

// hold notes that a gauge has a value for the time of one collection.
func (e *entry) hold(value float64) {
	for i := range e.in {
		in := &e.in[i]
		if in.count == 0 || value > in.high {
			in.high = value
		}
		in.sum, in.count = in.sum+value, in.count+1
	}
}

// histogram takes cumulative times.
func (r *readings) histogram(name string, value *histogram.Histogram) {
	e := r.group.entries[name]
	if e == nil {
		e = &entry{name: name, sort: times}
		r.group.entries[name] = e
	}
	e.histogram = value
}

// take notes whether the object moved, and what it is called now.
func (g *group) take(of labelled, moved bool, at time.Time, leaving leaving) {
	if of != g.of { // new, or renamed: series begin, at the counts of now
		g.of = of
		for _, e := range g.entries {
			if g.kept {
				e.base = e.value
			}
			leaving.add(e)
			e.labels = e.labelsOf(of)
			for i := range e.in {
				e.in[i].ref, e.in[i].live = 0, false
			}
			leaving.comeBack(e)
		}
		g.kept = false
	}
	switch {
	case moved:
		g.movedAt, g.idle = at, false
	case at.Sub(g.movedAt) >= idleAfter:
		g.idle = true
	}
	for _, e := range g.entries {
		if e.labels.IsEmpty() {
			e.labels = e.labelsOf(of)
			leaving.comeBack(e)
		}
	}
}

// rebase has counters begin at their present values when they are next written.
func (g *group) rebase() {
	for _, e := range g.entries {
		e.base = e.value
	}
}

func (e *entry) labelsOf(of labelled) labels.Labels {
	pairs := []string{labels.MetricName, e.name}
	all := []string{"service", of.service, "tenant", of.tenant, tenantLabel, of.tenantUUID, "pool", of.pool,
		"server", of.server, "engine", of.engine, "uuid", of.uuid}
	for pair := range slices.Chunk(append(all, e.own...), 2) {
		if pair[1] != "" {
			pairs = append(pairs, pair...)
		}
	}
	return labels.FromStrings(pairs...)
}

// tenantLabel has the uuid of the tenant. Names change: what a tenant may see goes by the uuid.
const tenantLabel = "tenant_uuid"
