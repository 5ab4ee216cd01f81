package metrics

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
)

// Scores are the health scores of objects. They must not wait for the fleet, which is locked. false: there is none.
type Scores interface {
	ServiceScore(uuid string) (score.Score, bool)
	PoolScore(uuid string) (score.Score, bool)
	EngineScore(uuid string) (score.Score, bool)
	ServerScore(key fleet.ServerKey) (score.Score, bool)
}

// best is the score of an object that loses no points.
const best = 100

// score takes a health score. A perfect one makes no series by itself: objects without traffic have none. A penalty has
// none before it costs something. Without a grade, the series end.
func (r *readings) score(prefix string, of score.Score, graded bool) {
	name := prefix + "health_score"
	if !graded || of.Band == score.Grey {
		if len(r.group.entries) == 0 {
			return
		}
		for _, part := range []string{"", "_performance", "_resources_penalty", "_anomaly_penalty",
			"_security_penalty"} {
			r.end(name + part)
		}
		return
	}
	if of.Value == best && len(r.group.entries) == 0 {
		return
	}
	r.level(name, mean, float64(of.Value), true)
	if prefix == "weir_server_" {
		return // its performance is its score
	}
	r.level(name+"_performance", mean, float64(of.Performance), true)
	for part, points := range map[string]int{
		"_resources_penalty": of.Resources, "_anomaly_penalty": of.Anomaly, "_security_penalty": of.Security,
	} {
		if points > 0 || r.group.entries[name+part] != nil {
			r.level(name+part, mean, float64(points), true)
		}
	}
}

// makesNoSeries tells whether a score is none for which an object without traffic gets series.
func makesNoSeries(of score.Score, graded bool) bool {
	return !graded || of.Band == score.Grey || of.Value == best
}

// end ends a gauge of which there is no value now.
func (r *readings) end(name string) {
	if e := r.group.entries[name]; e != nil {
		e.absent = true
	}
}

// readScore takes the score of a pool. used: one of its servers has series.
func (c *collector) readScore(pool *model.Pool, used bool, seen map[string]bool, at time.Time) {
	if c.config.Scores == nil {
		return
	}
	is, graded := c.config.Scores.PoolScore(pool.UUID)
	if !used && is.Value == best && c.groups[pool.UUID] == nil {
		return
	}
	c.observe(seen, pool.UUID, "pool", c.labelsOfPool(pool), at, func(r *readings) {
		if used && graded && is.Band != score.Grey {
			r.level("weir_pool_health_score", mean, float64(is.Value), true)
		}
		r.score("weir_pool_", is, graded)
	})
}
