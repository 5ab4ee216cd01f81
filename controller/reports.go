package controller

import (
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/runtime"
	"github.com/weir-lb/weir/controller/schema"
)

// reportsOf lists the runtime pages of each kind of object.
func reportsOf(pages *runtime.Pages) rest.Reports {
	service, pool, servers := told(pages.VirtualService), told(pages.Pool), told(pages.PoolServers)
	return rest.Reports{
		"virtualservice": {"runtime": service, "runtime/detail": service},
		"pool": {
			"runtime": pool, "runtime/detail": pool,
			"runtime/server": servers, "runtime/server/detail": servers,
		},
		"serviceengine": {
			"runtime": told(pages.Engine),
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
