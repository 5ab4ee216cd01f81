package grading

import (
	"cmp"
	"slices"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/series"
)

// Service returns the score of a virtual service, with those of its pools and of the engines that serve it. false: it
// was not graded yet.
func (g *Grades) Service(uuid string) (report score.Report, graded bool) {
	now := g.read()
	g.fleet.Read(func(known *fleet.Known) {
		vs := known.VirtualService(uuid)
		if vs == nil {
			return
		}
		report = score.Report{Kind: serviceKind, UUID: uuid, Name: vs.Name}
		report.Score, graded = now.services[uuid]
		for _, of := range vs.Pools() {
			if pool, has := now.pool(known, of.UUID); has {
				report.Parts = append(report.Parts, pool)
			}
		}
		for _, id := range known.Serving(uuid, known.Assigned(uuid)) {
			if of, has := now.engines[id]; has {
				report.Parts = append(report.Parts, score.Report{Kind: engineKind, UUID: id,
					Name: known.Name(id), Score: of})
			}
		}
	})
	return report, graded
}

// Pool returns the score of a pool, with those of its servers.
func (g *Grades) Pool(uuid string) (report score.Report, graded bool) {
	now := g.read()
	g.fleet.Read(func(known *fleet.Known) { report, graded = now.pool(known, uuid) })
	return report, graded
}

// Engine returns the score of an engine.
func (g *Grades) Engine(uuid string) (report score.Report, graded bool) {
	now := g.read()
	g.fleet.Read(func(known *fleet.Known) {
		report = score.Report{Kind: engineKind, UUID: uuid, Name: known.Name(uuid)}
	})
	report.Score, graded = now.engines[uuid]
	return report, graded
}

// The scores alone take no lock of the fleet. false: the object was not graded yet.

// ServiceScore returns the score of a virtual service.
func (g *Grades) ServiceScore(uuid string) (score.Score, bool) { return found(g.read().services, uuid) }

// PoolScore returns the score of a pool.
func (g *Grades) PoolScore(uuid string) (score.Score, bool) { return found(g.read().pools, uuid) }

// EngineScore returns the score of an engine.
func (g *Grades) EngineScore(uuid string) (score.Score, bool) { return found(g.read().engines, uuid) }

// ServerScore returns the score of a server. false: also if its pool has too many servers.
func (g *Grades) ServerScore(key fleet.ServerKey) (score.Score, bool) {
	return found(g.read().servers, key)
}

// All returns the scores of all objects of a kind, by uuid. Do not change it.
func (g *Grades) All(kind series.Kind) map[string]score.Score {
	now := g.read()
	return map[series.Kind]map[string]score.Score{
		series.VirtualService: now.services, series.Pool: now.pools, series.Engine: now.engines,
	}[kind]
}

func found[K comparable](in map[K]score.Score, key K) (of score.Score, graded bool) {
	of, graded = in[key]
	return of, graded
}

const (
	serviceKind = string(series.VirtualService)
	poolKind    = string(series.Pool)
	engineKind  = string(series.Engine)
	serverKind  = "server"
)

func (g *Grades) read() scores {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.scores
}

func (s scores) pool(known *fleet.Known, uuid string) (report score.Report, graded bool) {
	pool := known.Pool(uuid)
	if pool == nil {
		return report, false
	}
	report = score.Report{Kind: poolKind, UUID: uuid, Name: pool.Name}
	report.Score, graded = s.pools[uuid]
	for _, member := range pool.Members {
		if of, has := s.servers[fleet.ServerKey{Pool: uuid, Server: member.ID}]; has {
			report.Parts = append(report.Parts, score.Report{Kind: serverKind, UUID: uuid, Name: member.ID, Score: of})
		}
	}
	slices.SortStableFunc(report.Parts, func(a, b score.Report) int {
		return cmp.Compare(a.Score.Value, b.Score.Value)
	})
	return report, graded
}
