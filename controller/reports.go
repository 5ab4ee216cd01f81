package controller

import (
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/grading"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/runtime"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/unusual"
)

// reportsOf lists the runtime pages of each kind of object.
func reportsOf(pages *runtime.Pages, grades *grading.Grades) rest.Reports {
	service := scored(pages.VirtualService, grades.ServiceScore)
	pool := scored(pages.Pool, grades.PoolScore)
	servers := func(uuid string) []schema.Object {
		list := pages.PoolServers(uuid)
		for _, server := range list {
			id, _ := server["server_id"].(string)
			addScore(server, func() (score.Score, bool) {
				return grades.ServerScore(fleet.ServerKey{Pool: uuid, Server: id})
			})
		}
		return list
	}
	return rest.Reports{
		"virtualservice": {"runtime": told(service), "runtime/detail": told(service)},
		"pool": {
			"runtime": told(pool), "runtime/detail": told(pool),
			"runtime/server": told(servers), "runtime/server/detail": told(servers),
		},
		"serviceengine": {
			"runtime": told(scored(pages.Engine, grades.EngineScore)),
			"bgp": func(uuid string) any {
				return schema.Object{"peers": pages.EnginePeers(uuid), "advertised_routes": pages.EngineRoutes(uuid)}
			},
			"bgp/peer_status":       told(pages.EnginePeers),
			"bgp/advertised_routes": told(pages.EngineRoutes),
			"bfd/session_status":    told(pages.EngineBFD),
		},
	}
}

func told[T any](tell func(uuid string) T) rest.Report {
	return func(uuid string) any { return tell(uuid) }
}

// scored adds the health score to a page.
func scored(tell func(uuid string) schema.Object, grade func(uuid string) (score.Score, bool)) func(
	uuid string) schema.Object {
	return func(uuid string) schema.Object {
		page := tell(uuid)
		addScore(page, func() (score.Score, bool) { return grade(uuid) })
		return page
	}
}

func addScore(page schema.Object, grade func() (score.Score, bool)) {
	if of, graded := grade(); graded {
		page["health_score"] = of.Shown()
	}
}

// scoresOf answers with the present scores of objects.
func scoresOf(grades *grading.Grades) rest.Scores {
	by := map[string]func(uuid string) (score.Report, bool){
		"virtualservice": grades.Service, "pool": grades.Pool, "serviceengine": grades.Engine,
	}
	return func(kind, uuid string) (score.Report, bool) {
		if of := by[kind]; of != nil {
			return of(uuid)
		}
		return score.Report{}, false
	}
}

// habits tells REST what is usual.
type habits struct{ *unusual.Watch }

func (h habits) Anomalies(uuid string) (all []rest.Anomaly) {
	for _, one := range h.Watch.Anomalies(uuid) {
		all = append(all, rest.Anomaly(one))
	}
	return all
}
