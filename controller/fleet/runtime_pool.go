package fleet

import (
	"fmt"
	"slices"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// Pool is the runtime of a pool: its state and why, and how many of its servers are up.
func (f *Fleet) Pool(uuid string) schema.Object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	pool := f.pools[uuid]
	if pool == nil {
		return schema.Object{"oper_status": operStatus("OPER_INITIALIZING", "its configuration is being read")}
	}
	state := f.poolState(pool)
	return schema.Object{
		"oper_status":                operStatus(state.state, state.reasons...),
		"num_servers":                int64(len(pool.Servers)),
		"num_servers_enabled":        int64(state.enabled),
		"num_servers_up":             int64(state.up),
		"percent_servers_up_enabled": percentOf(state.up, state.enabled),
		"percent_servers_up_total":   percentOf(state.up, len(pool.Servers)),
		"servers":                    toList(f.servers(pool)),
	}
}

// PoolServers is the runtime of each server of a pool, in the order of the object.
func (f *Fleet) PoolServers(uuid string) []schema.Object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if pool := f.pools[uuid]; pool != nil {
		return f.servers(pool)
	}
	return nil
}

func toList(objects []schema.Object) []any {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return list
}

type poolState struct {
	state       string
	reasons     []string
	enabled, up int
	servers     []serverState // of its members
}

// isUnsure tells of a pool that is not up yet and may be when all its servers are checked.
func (p poolState) isUnsure() bool {
	return p.up == 0 && slices.ContainsFunc(p.servers, func(server serverState) bool { return server.state == "OPER_INITIALIZING" })
}

// poolState: up when a server is, as engines take it.
func (f *Fleet) poolState(pool *model.Pool) poolState {
	engines := f.poolEngines(pool)
	var result poolState
	for _, member := range pool.Members {
		server := f.serverState(pool, member, engines)
		result.servers = append(result.servers, server)
		if !pool.Enabled || !member.Enabled {
			continue
		}
		result.enabled++
		switch server.state {
		case "OPER_UP":
			result.up++
		default:
			result.reasons = append(result.reasons, fmt.Sprintf("server %s: %s", member.ID, server.reason))
		}
	}
	switch {
	case !pool.Enabled:
		result.state, result.reasons = "OPER_DISABLED", []string{"enabled is false"}
	case len(engines) == 0:
		result.state, result.reasons = "OPER_UNUSED", []string{"no virtual service that is served uses it"}
	case result.up > 0:
		result.state = "OPER_UP"
	case len(pool.Servers) == 0:
		result.state, result.reasons = "OPER_DOWN", []string{"it has no server"}
	case result.enabled == 0 && len(pool.Members) > 0:
		result.state, result.reasons = "OPER_DOWN", []string{"none of its servers is enabled"}
	default:
		result.state = "OPER_DOWN"
	}
	return result
}

// poolEngines are the uuids of the engines that work and serve a virtual service with this pool, sorted. Where none does
// because no router sends clients, they are those that would.
func (f *Fleet) poolEngines(pool *model.Pool) []string {
	var engines, ready []string
	for _, vs := range f.users[pool] {
		assigned := f.assigned(vs.UUID)
		engines = append(engines, f.serving(vs.UUID, assigned)...)
		ready = append(ready, f.ready(vs.UUID, assigned)...)
	}
	if len(engines) == 0 {
		engines = ready
	}
	slices.Sort(engines)
	return slices.Compact(engines)
}

// serverState is what the engines together say of a server: up if one of them can reach it.
type serverState struct {
	state   string
	reason  string   // of one that is not up, or why it counts as up
	checked []string // uuids of the engines that have a verdict
	since   time.Time
}

func (f *Fleet) serverState(pool *model.Pool, member model.Member, engines []string) serverState {
	switch {
	case !pool.Enabled || !member.Enabled:
		return serverState{state: "OPER_DISABLED", reason: "enabled is false"}
	case len(engines) == 0:
		return serverState{state: "OPER_UNKNOWN", reason: "no engine uses it"}
	}
	result := serverState{state: "OPER_INITIALIZING", reason: "no engine has checked it yet"}
	if len(pool.HealthMonitors) == 0 {
		result.reason = "not monitored"
	}
	for _, id := range engines {
		seen := f.engines[id].sees(pool, member)
		if seen.state == "" {
			continue
		}
		if seen.told {
			result.checked = append(result.checked, id)
		}
		if seen.state == "OPER_UP" || result.state != "OPER_UP" {
			result.state, result.reason = seen.state, seen.reason
		}
		if seen.since.After(result.since) {
			result.since = seen.since
		}
	}
	return result
}

// seen is what one engine says of a server.
type seen struct {
	state, reason string // empty: nothing yet
	told          bool   // by a monitor, or by what connections came to
	since         time.Time
}

// sees is the word of the monitors. Where they have nothing against a server, connections to it that come to nothing do.
func (e *engine) sees(pool *model.Pool, member model.Member) seen {
	key := serverKey{pool.UUID, member.ID}
	verdict, suspectSince := e.verdicts[key], e.suspects[key]
	monitored := len(pool.HealthMonitors) > 0
	switch {
	case monitored && verdict == nil:
		return seen{}
	case monitored && !verdict.GetUp():
		return seen{"OPER_DOWN", verdict.GetReason(), true, time.UnixMilli(int64(verdict.GetSinceUnixMs()))}
	case !suspectSince.IsZero():
		return seen{"OPER_DOWN", e.suspicion(key), true, suspectSince}
	case monitored:
		return seen{"OPER_UP", "", true, time.UnixMilli(int64(verdict.GetSinceUnixMs()))}
	default:
		return seen{state: "OPER_UP", reason: "not monitored"}
	}
}

// suspicion says to how many of an engine's workers a server is suspect. Each decides for itself.
func (e *engine) suspicion(key serverKey) string {
	return fmt.Sprintf("inline_health_monitor: new connections to it come to nothing on %d of %d workers",
		e.sample.server(key).GetSuspectingWorkers(), e.sample.GetWorkers())
}

func (f *Fleet) shownVerdicts(pool *model.Pool, member model.Member, engines []string) []any {
	shown := []any{}
	for _, id := range engines {
		shown = append(shown, f.shownVerdict(id, f.engines[id].sees(pool, member), f.engines[id].verdicts[serverKey{pool.UUID, member.ID}]))
	}
	return shown
}

func (f *Fleet) shownVerdict(engineUUID string, seen seen, verdict *enginev1.ServerVerdict) schema.Object {
	monitors := []any{}
	for _, monitor := range verdict.GetMonitors() {
		monitors = append(monitors, schema.Object{
			"health_monitor_ref": schema.RefPath("healthmonitor", monitor.GetHealthMonitorUuid()), "up": monitor.GetUp(),
			"reason": monitor.GetReason(), "response_time_us": int64(monitor.GetResponseTimeUs()),
		})
	}
	return schema.Object{
		"engine": f.name(engineUUID), "se_ref": schema.RefPath(engineKind, engineUUID),
		"oper_status": operStatus(seen.state, nonEmpty(seen.reason)...), "monitors": monitors,
	}
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (f *Fleet) servers(pool *model.Pool) []schema.Object {
	engines := f.poolEngines(pool)
	list := make([]schema.Object, 0, len(pool.Members))
	for _, member := range pool.Members {
		key, state := serverKey{pool.UUID, member.ID}, f.serverState(pool, member, engines)
		status := operStatus(state.state, nonEmpty(state.reason)...)
		if !state.since.IsZero() {
			status["last_changed_time"] = state.since.UTC().Format(time.RFC3339)
		}
		server := schema.Object{
			"ip_addr": schema.Object{"addr": member.IP.Addr, "type": member.IP.Type}, "port": int64(member.Address.Port()),
			"hostname": member.Hostname, "server_id": member.ID, "oper_status": status, "engines": f.shownVerdicts(pool, member, state.checked),
		}
		if counters := f.serverCounters(key); counters != nil {
			server["counters"] = counters
		}
		list = append(list, server)
	}
	return list
}
