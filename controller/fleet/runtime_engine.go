package fleet

import (
	"strings"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/schema"
)

// Engine is the runtime of an engine: its session, its data plane, the Plan that it serves, and its load.
func (f *Fleet) Engine(uuid string) schema.Object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	engine := f.engines[uuid]
	if engine == nil {
		engine = newEngine(f.now())
	}
	runtime := schema.Object{
		"oper_status":  engine.operStatus(),
		"se_connected": engine.connected,
		"bgp_peers_up": engine.peersUp(),
		"since":        engine.since.UTC().Format(time.RFC3339),
		"version":      engine.version,
		"dataplane":    engine.dataplane(),
		"applied":      engine.applied(),
		"warnings":     f.shown(engine.warnings, uuid),
	}
	if !engine.reported.IsZero() {
		runtime["last_report"] = engine.reported.UTC().Format(time.RFC3339Nano)
	}
	if counters := engine.counters(); counters != nil {
		runtime["counters"] = counters
	}
	if resources := engine.resources; resources != nil {
		runtime["resources"] = schema.Object{
			"num_vcpus": int64(resources.GetCores()), "memory_bytes": int64(resources.GetMemoryBytes()),
			"hostname": resources.GetHostname(), "addresses": stringList(resources.GetAddresses()),
		}
	}
	if len(engine.routing.GetPeers()) > 0 {
		runtime["bgp"] = schema.Object{"peers": peersOf(engine.routing), "advertised_routes": routesOf(engine.routing)}
	}
	if engine.detours != nil {
		runtime["detours"] = detoursOf(engine.detours)
	}
	if engine.refusal != nil {
		runtime["refusal"] = schema.Object{
			"revision": int64(engine.refusal.revision), "errors": f.shown(engine.refusal.errors, uuid),
		}
	}
	return runtime
}

func stringList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func (e *engine) operStatus() schema.Object {
	if !e.works() {
		return operStatus("OPER_DOWN", e.whyDown())
	}
	return operStatus("OPER_UP")
}

// whyDown is of an engine that does not work.
func (e *engine) whyDown() string {
	if !e.connected {
		return e.reason
	}
	return strings.TrimSuffix("data plane is "+dataplaneState(e.status)+": "+e.status.GetReason(), ": ")
}

// dataplaneState is "running", "backing off", or "in an unknown state".
func dataplaneState(status *enginev1.Status) string {
	if status.GetDataplane() == enginev1.DataplaneState_DATAPLANE_STATE_UNSPECIFIED {
		return "in an unknown state"
	}
	name := strings.TrimPrefix(status.GetDataplane().String(), "DATAPLANE_STATE_")
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

func (e *engine) dataplane() schema.Object {
	shown := schema.Object{
		"state": dataplaneState(e.status), "pid": int64(e.status.GetDataplanePid()),
		"restarts": int64(e.status.GetDataplaneRestarts()), "reason": e.status.GetReason(),
		"serving_revision": int64(e.status.GetServingRevision()),
	}
	if since := e.status.GetSinceUnixMs(); since != 0 {
		shown["since"] = time.UnixMilli(int64(since)).UTC().Format(time.RFC3339)
	}
	if sample := e.sample; sample != nil {
		shown["workers"], shown["pinned_workers"] = int64(sample.GetWorkers()), int64(sample.GetPinnedWorkers())
		shown["rss_bytes"] = int64(sample.GetRssBytes())
		shown["cpu_us"] = int64(sample.GetCpuUserUs() + sample.GetCpuSystemUs())
		shown["cpu_user_us"], shown["cpu_system_us"] = int64(sample.GetCpuUserUs()), int64(sample.GetCpuSystemUs())
		if cpu, ok := e.cpuPercent(); ok {
			shown["cpu_percent"] = cpu
		}
	}
	return shown
}

func (e *engine) applied() schema.Object {
	return schema.Object{
		"revision": int64(e.held.GetRevision()), "wanted_revision": int64(e.wanted.GetRevision()),
		"current": e.held.GetRevision() == e.wanted.GetRevision(),
	}
}
