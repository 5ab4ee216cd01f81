package events

import (
	"context"
	"iter"
	"time"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// lookEvery is the time between two comparisons.
const lookEvery = time.Second

// States say what is up.
type States interface {
	// Changed tells whether something may be up or down that was not, since it was asked last.
	Changed() bool
	Pools() iter.Seq2[*model.Pool, health.Pool]
	Services() iter.Seq2[*model.VirtualService, health.Status]
}

// Watcher adds an event when a virtual service, a pool or a server comes up or goes down. The leader runs it. It
// remembers the earlier states in memory; the next leader begins with none.
type Watcher struct {
	log    *Log
	states States

	servicesUp memory[string] // by uuid
	poolsUp    memory[string] // by uuid
	serversUp  memory[server]
}

// NewWatcher has seen nothing yet.
func NewWatcher(log *Log, states States) *Watcher {
	return &Watcher{
		log: log, states: states, servicesUp: newMemory[string](), poolsUp: newMemory[string](),
		serversUp: newMemory[server](),
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
