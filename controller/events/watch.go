package events

import (
	"context"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// lookEvery is the time between two comparisons.
const lookEvery = time.Second

// States returns the states to compare.
type States interface {
	// News returns the states that may have changed since its last call.
	News() News
}

// News is the states of some virtual services and pools, and the uuids of deleted ones.
type News struct {
	Pools     []PoolNews
	PoolsGone []string

	Services     []ServiceNews
	ServicesGone []string
}

// PoolNews is the state of a pool.
type PoolNews struct {
	Pool   *model.Pool
	Health health.Pool
}

// ServiceNews is the state of a virtual service.
type ServiceNews struct {
	VirtualService *model.VirtualService
	Health         health.Status
	Resumes        bool // it was served before this leader began: that it is up for the first time is no event
}

// Watcher adds an event when a virtual service, a pool or a server comes up or goes down. The leader runs it. It keeps
// the earlier states in memory; the next leader begins without any.
type Watcher struct {
	log    *Log
	states States

	servicesUp map[string]bool            // by uuid
	poolsUp    map[string]bool            // by uuid
	serversUp  map[string]map[string]bool // by uuid of the pool, then by id
}

// NewWatcher returns a watcher that knows no states yet.
func NewWatcher(log *Log, states States) *Watcher {
	return &Watcher{
		log: log, states: states,
		servicesUp: map[string]bool{}, poolsUp: map[string]bool{}, serversUp: map[string]map[string]bool{},
	}
}

// Run compares states until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			w.Look()
		}
	}
}

// Look compares the states with the earlier ones, and adds the events.
func (w *Watcher) Look() {
	news := w.states.News()
	w.pools(news)
	w.services(news)
}
