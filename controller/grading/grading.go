// Package grading computes the health scores of virtual services, pools, servers and engines, each 15 s. It keeps what
// was counted in the last five minutes, in memory, and has controller/health/score grade it.
//
// It belongs to the leader. The next leader begins with an empty window.
package grading

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/turns"
)

const (
	every = 15 * time.Second
	// points are those of the window of five minutes.
	points = 20
)

// Grades are the scores of all objects. It is safe for concurrent use.
type Grades struct {
	fleet *fleet.Fleet
	now   func() time.Time
	// Unusual returns what is unlike its habit of an object, by its uuid; nil: nobody looks. Set it before Run.
	Unusual func(uuid string) []score.Anomalous

	services map[string]*service // by uuid
	pools    map[string]*pool
	engines  map[string]*engine
	chains   chains
	grading  sync.Mutex // of one grading at a time, which alone uses the fields above

	mu     sync.RWMutex
	scores scores
}

// scores are the results of the last grading. They are never changed in place.
type scores struct {
	services, pools, engines map[string]score.Score
	servers                  map[fleet.ServerKey]score.Score
}

// newScores has room for as many scores as there were before.
func newScores(before scores) scores {
	return scores{make(map[string]score.Score, len(before.services)), make(map[string]score.Score, len(before.pools)),
		make(map[string]score.Score, len(before.engines)), make(map[fleet.ServerKey]score.Score, len(before.servers))}
}

// New returns the scores of a fleet. Run computes them.
func New(fleet *fleet.Fleet, now func() time.Time) *Grades {
	return &Grades{
		fleet: fleet, now: now, services: map[string]*service{}, pools: map[string]*pool{},
		engines: map[string]*engine{}, chains: chains{},
	}
}

// Run grades each 15 s until ctx ends.
func (g *Grades) Run(ctx context.Context) error {
	g.Grade()
	turns.Run(ctx, g.now, every, turns.Grading, func(time.Time) { g.Grade() })
	return nil
}

// Grade grades all objects once.
func (g *Grades) Grade() {
	g.grading.Lock()
	defer g.grading.Unlock()
	var m *model.Model
	g.fleet.Read(func(known *fleet.Known) { m = known.Model() })
	graded, at := newScores(g.scores), g.now()
	fleet.ReadEach(g.fleet, m.Engines, func(known *fleet.Known, engine *model.Engine) {
		graded.engines[engine.UUID] = g.engine(known, engine)
	})
	// The model may change meanwhile: what is known is about the objects of the newest one.
	fleet.ReadEach(g.fleet, m.Pools, func(known *fleet.Known, pool *model.Pool) {
		if pool = known.Pool(pool.UUID); pool != nil {
			g.pool(known, pool, graded)
		}
	})
	fleet.ReadEach(g.fleet, m.VirtualServices, func(known *fleet.Known, vs *model.VirtualService) {
		if vs = known.VirtualService(vs.UUID); vs != nil {
			graded.services[vs.UUID] = g.service(known, vs, at)
		}
	})
	gone(g.engines, graded.engines)
	gone(g.pools, graded.pools)
	gone(g.services, graded.services)
	g.chains.forget(m)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scores = graded
}

// gone forgets the windows of objects that were not graded.
func gone[T any](windows map[string]T, graded map[string]score.Score) {
	maps.DeleteFunc(windows, func(uuid string, _ T) bool {
		_, is := graded[uuid]
		return !is
	})
}

func (g *Grades) unusual(uuid string) []score.Anomalous {
	if g.Unusual == nil {
		return nil
	}
	return g.Unusual(uuid)
}
