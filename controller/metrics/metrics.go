// Package metrics is the history of numbers: a collector reads what engines counted, each 5 s, and Prometheus' tsdb
// keeps it in three tiers, which differ in the time between samples and in how long they keep them. Questions come in
// PromQL, or by the metric ids of Avi, which alias.go maps to our series.
//
// The way of a number is: fleet → collector → group (the series of one object) → samples → tiers. The way of a question
// is: rest → ask.go or promql.go → querier, which chooses tiers.
//
// It belongs to the leader. This package alone knows Prometheus. Nothing here may hold up or end the controller: the
// tiers open beside its start, and an error of the disk ends in an event and in answers that say so.
package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/turns"
	"github.com/weir-lb/weir/host"
)

// Config is what the history needs.
type Config struct {
	Dir        string // for the tiers; it is made if need be
	Fleet      *fleet.Fleet
	TenantName func(uuid string) string
	Events     *events.Log
	Log        *slog.Logger
	Scores     Scores             // nil: none are kept
	Receiver   Receiver           // gets all samples, too; nil: nobody does
	Machine    func() host.Counts // of the controller; nil: it is not read
	Now        func() time.Time   // nil: time.Now
}

// History keeps numbers and answers questions about them. It is safe for concurrent use.
type History struct {
	config Config
	engine *promql.Engine
	places places
	health health
	// patience is how long one request may use a place.
	patience time.Duration

	collector *collector

	life context.Context // ends before the tiers close
	end  context.CancelFunc

	mu    sync.RWMutex // held for reading while a query uses the tiers
	tiers *tiers       // nil: not open
}

// New returns a history that Run opens.
func New(config Config) *History {
	if config.Now == nil {
		config.Now = time.Now
	}
	h := &History{
		config: config, engine: newEngine(config.Log), places: newPlaces(), patience: queryTimeout,
		health:    health{events: config.Events, now: config.Now},
		collector: newCollector(config, config.Now()),
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// retryEvery is the time between two attempts to open the tiers.
const retryEvery = time.Minute

// Run opens the tiers, collects until ctx ends, and closes them. It never fails: while the tiers cannot be opened or
// written, it says so in an event, and tries again.
func (h *History) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		opened, err := openTiers(h.config.Dir, h.config.Log)
		if err != nil {
			h.health.turn("the history of metrics cannot be opened", err)
			wait(ctx, retryEvery)
			continue
		}
		h.set(opened)
		stop := h.beside(ctx, opened)
		h.collect(ctx, opened)
		stop()
		h.end()
		h.set(nil) // waits for queries
		if err := opened.close(); err != nil {
			h.config.Log.Warn("the history of metrics was not closed", "error", err)
		}
	}
	return nil
}

// beside sweeps the tiers, and sends to the receiver, if there is one, until stop is called.
func (h *History) beside(ctx context.Context, opened *tiers) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { h.sweep(ctx, opened) })
	if h.config.Receiver != nil {
		running.Go(func() { newRemote(h, h.config.Receiver).run(ctx) })
	}
	return func() { end(); running.Wait() }
}

// sweepEvery is the time between two sweeps of the tiers.
const sweepEvery = time.Minute

// sweep sweeps the tiers until ctx ends.
func (h *History) sweep(ctx context.Context, opened *tiers) {
	for wait(ctx, sweepEvery) {
		err := opened.hasRoom()
		if err == nil {
			err = opened.sweep(endedMost)
		}
		if err != nil {
			h.config.Log.Warn("series that have ended stay in memory", "error", err)
		}
	}
}

func (h *History) set(tiers *tiers) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tiers = tiers
}

// collect collects at each multiple of retention.CollectEvery until ctx ends.
func (h *History) collect(ctx context.Context, into *tiers) {
	turns.Run(ctx, h.config.Now, retention.CollectEvery, turns.Metrics, func(at time.Time) { h.tick(into, at) })
}

// tick collects once. at is the time of the samples.
func (h *History) tick(into *tiers, at time.Time) {
	h.collector.mu.Lock()
	defer h.collector.mu.Unlock()
	h.collector.read(at)
	err := into.hasRoom()
	if err == nil {
		err = h.collector.write(into, at)
	}
	h.health.turn("metrics are not kept", err)
	h.health.refuse(h.collector.refused)
}

// wait returns false if ctx ends before.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Catalog lists all metrics of Avi's API.
func (*History) Catalog() []series.Metric { return Catalog() }
