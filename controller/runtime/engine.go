package runtime

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema"
)

// Engine returns the runtime page of an engine: its session, its data plane, the Plan that it has applied, and its
// load.
func (p *Pages) Engine(uuid string) (page schema.Object) {
	p.fleet.Read(func(known *fleet.Known) {
		engine := known.Engine(uuid)
		if engine == nil {
			engine = fleet.Unheard(p.now())
		}
		page = enginePage(engine, known.Name(uuid))
	})
	return page
}

func enginePage(engine *fleet.Engine, name string) schema.Object {
	status := operStatus(health.Up)
	if !engine.Works() {
		status = operStatus(health.Down, engine.WhyDown())
	}
	page := schema.Object{
		"oper_status":  status,
		"se_connected": engine.IsConnected(),
		"bgp_peers_up": engine.PeersUp(),
		"since":        second(engine.Since),
		"version":      engine.Version,
		"dataplane":    dataplane(engine),
		"applied": schema.Object{
			"revision": int64(engine.Held.GetRevision()), "wanted_revision": int64(engine.Wanted.GetRevision()),
			"current": engine.HasNewest(),
		},
		"warnings": findings(engine.Warnings, name),
	}
	if !engine.Reported.IsZero() {
		page["last_report"] = engine.Reported.UTC().Format(time.RFC3339Nano)
	}
	counted(page, engine.Counters())
	if workers := workersOf(engine); len(workers) > 0 {
		page["workers"] = objectList(workers)
	}
	if resources := engine.Resources; resources != nil {
		page["resources"] = schema.Object{
			"num_vcpus": int64(resources.GetCores()), "memory_bytes": int64(resources.GetMemoryBytes()),
			"hostname": resources.GetHostname(), "addresses": stringList(resources.GetAddresses()),
		}
	}
	if engine.Host != nil {
		page["host"] = hostOf(engine)
	}
	if len(engine.Routing.GetPeers()) > 0 {
		page["bgp"] = schema.Object{"peers": peersOf(engine.Routing), "advertised_routes": routesOf(engine.Routing)}
	}
	if engine.Detours != nil {
		page["detours"] = detoursOf(engine.Detours)
	}
	if refusal := engine.Refusal; refusal != nil {
		page["refusal"] = schema.Object{"revision": int64(refusal.Revision), "errors": findings(refusal.Errors, name)}
	}
	return page
}

func dataplane(engine *fleet.Engine) schema.Object {
	status := engine.Status
	shown := schema.Object{
		"state": engine.Dataplane(), "pid": int64(status.GetDataplanePid()),
		"restarts": int64(status.GetDataplaneRestarts()),
		"reason":   status.GetReason(), "serving_revision": int64(status.GetServingRevision()),
	}
	if since := status.GetSinceUnixMs(); since != 0 {
		shown["since"] = second(time.UnixMilli(int64(since)))
	}
	if sample := engine.Sample; sample != nil {
		shown["workers"], shown["pinned_workers"] = int64(sample.GetWorkers()), int64(sample.GetPinnedWorkers())
		shown["rss_bytes"] = int64(sample.GetRssBytes())
		shown["cpu_us"] = int64(sample.GetCpuUserUs() + sample.GetCpuSystemUs())
		shown["cpu_user_us"], shown["cpu_system_us"] = int64(sample.GetCpuUserUs()), int64(sample.GetCpuSystemUs())
		if cpu, ok := engine.CPUPercent(); ok {
			shown["cpu_percent"] = cpu
		}
	}
	return shown
}
