package metrics

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/series"
)

// graded has the same score for all objects; nil: none.
type graded struct{ of *score.Score }

func (g *graded) ServiceScore(string) (score.Score, bool)         { return g.score() }
func (g *graded) PoolScore(string) (score.Score, bool)            { return g.score() }
func (g *graded) EngineScore(string) (score.Score, bool)          { return g.score() }
func (g *graded) ServerScore(fleet.ServerKey) (score.Score, bool) { return g.score() }

func (g *graded) score() (score.Score, bool) {
	if g.of == nil {
		return score.Score{}, false
	}
	return *g.of, true
}

func (s *stage) wantPoint(metric string, want any) {
	s.Helper()
	got := s.points(metric, 15*time.Second, 1)[0]
	switch {
	case want == nil && got != nil:
		s.Errorf("%s is %v, and it is not known", metric, *got)
	case want != nil && (got == nil || *got != want):
		s.Errorf("%s: got %v, want %v", metric, got, want)
	}
}

func TestHealthScoresHaveHistory(t *testing.T) {
	scores := &graded{}
	s := newStage(t)
	s.end()
	s.scores = scores
	s.begin()
	s.report("se-one", 7, requested(0))
	s.pass(1, func(n int) { s.report("se-one", 7, requested(1500)) })
	s.wantPoint("healthscore.health_score_value", nil)
	scores.of = &score.Score{Band: score.Fair, Value: 71, Performance: 83, Resources: 12}
	s.pass(1, nil)
	for id, want := range map[string]float64{
		"healthscore.health_score_value": 71, "healthscore.performance_value": 83,
		"healthscore.resources_penalty": 12, "healthscore.anomaly_penalty": 0, "healthscore.security_penalty": 0,
	} {
		s.wantPoint(id, want)
	}
	s.wantQuery(`weir_engine_health_score{engine="one"}`, 71)
	s.wantQuery(`weir_pool_health_score{pool="web-pool"}`, 71)
	scores.of = &score.Score{Band: score.Down}
	s.pass(1, nil)
	s.wantPoint("healthscore.health_score_value", 0.0)
	scores.of = &score.Score{Band: score.Grey}
	s.pass(1, nil)
	s.wantPoint("healthscore.health_score_value", nil)
	s.wantPoint("healthscore.anomaly_penalty", nil)
	scores.of = &score.Score{Band: score.Good, Value: 100, Performance: 100}
	s.pass(1, nil)
	s.wantPoint("healthscore.health_score_value", 100.0)
	s.wantPoint("healthscore.resources_penalty", 0.0)
}

func TestPerfectScoreOfAnIdleServiceMakesNoSeriesAndOneThatIsDownDoes(t *testing.T) {
	scores := &graded{&score.Score{Band: score.Good, Value: 100, Performance: 100}}
	s := newStage(t)
	s.end()
	s.scores = scores
	s.begin()
	s.pass(2, nil)
	if _, there := s.query(`weir_service_health_score`, ""); there {
		t.Error("an idle virtual service has a series")
	}
	scores.of = &score.Score{Band: score.Down}
	s.pass(1, nil)
	s.wantQuery(`weir_service_health_score{service="web"}`, 0)
}

func TestServerHasAScoreOfItsOwn(t *testing.T) {
	s := newStage(t)
	asked := s.history.question(view{s.tiers, series.Sight{}, s.Now},
		series.Question{Kind: series.Pool, Server: "10.0.0.1:80"})
	if asked.blanks.key != "uuid, server" {
		t.Fatalf("the key is %s", asked.blanks.key)
	}
	own := find(serverKind, "healthscore.health_score_value")
	if own == nil || find(series.Pool, "healthscore.health_score_value") == own {
		t.Error("a server has the score of its pool")
	}
}
