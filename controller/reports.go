package controller

import (
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/schema"
)

// reportsOf are the pages on which the fleet tells of objects, by kind.
func reportsOf(f *fleet.Fleet) rest.Reports {
	service, pool, servers := told(f.VirtualService), told(f.Pool), told(f.PoolServers)
	return rest.Reports{
		"virtualservice": {"runtime": service, "runtime/detail": service},
		"pool": {
			"runtime": pool, "runtime/detail": pool,
			"runtime/server": servers, "runtime/server/detail": servers,
		},
		"serviceengine": {
			"runtime": told(f.Engine),
			"bgp": func(uuid string) any {
				return schema.Object{"peers": f.EnginePeers(uuid), "advertised_routes": f.EngineRoutes(uuid)}
			},
			"bgp/peer_status":       told(f.EnginePeers),
			"bgp/advertised_routes": told(f.EngineRoutes),
			"bfd/session_status":    told(f.EngineBFD),
		},
	}
}

func told[T any](tell func(uuid string) T) rest.Report {
	return func(uuid string) any { return tell(uuid) }
}
