package events

import (
	"context"
	"iter"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// lookEvery is how often is looked what is up.
const lookEvery = time.Second

// States say what is up.
type States interface {
	// Changed tells whether something may be up or down that was not, since it was asked last.
	Changed() bool
	Pools() iter.Seq2[*model.Pool, health.Pool]
	Services() iter.Seq2[*model.VirtualService, health.Status]
}

// Watcher has events say which virtual services, pools and servers come up and go down. The leader runs it; what it
// compares with is in memory, and the next leader begins with nothing.
type Watcher struct {
	log    *Log
	states States

	servicesUp map[string]bool // by uuid
	poolsUp    map[string]bool // by uuid
	serversUp  map[server]bool
}

// NewWatcher has seen nothing yet.
func NewWatcher(log *Log, states States) *Watcher {
	return &Watcher{
		log: log, states: states, servicesUp: map[string]bool{}, poolsUp: map[string]bool{}, serversUp: map[server]bool{},
	}
}

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if w.states.Changed() {
				w.Look()
			}
		}
	}
}

// Look compares what is up with what was.
func (w *Watcher) Look() {
	w.pools()
	w.services()
}
