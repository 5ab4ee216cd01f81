package runtime

import (
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/slowness"
)

// Pool returns the runtime page of a pool: its state and the reasons, and how many of its servers are up.
func (p *Pages) Pool(uuid string) (page schema.Object) {
	p.fleet.Read(func(known *fleet.Known) {
		pool := known.Pool(uuid)
		if pool == nil {
			page = notRead()
			return
		}
		state := known.PoolHealth(pool)
		page = schema.Object{
			"oper_status":                operStatus(state.State, state.Reasons...),
			"num_servers":                int64(pool.Size()),
			"num_servers_enabled":        int64(state.Enabled),
			"num_servers_up":             int64(state.Up),
			"percent_servers_up_enabled": percentOf(state.Up, state.Enabled),
			"percent_servers_up_total":   percentOf(state.Up, pool.Size()),
			"servers":                    objectList(p.servers(known, pool, state)),
		}
		if pool.RequestQueueEnabled {
			counted(page, known.QueueCounters(uuid))
		}
		if p.scaled == nil {
			return
		}
		if status := p.scaled(uuid); status != nil {
			page["autoscale"] = autoscalePage(status)
		}
	})
	return page
}

// PoolServers returns the runtime page of each server of a pool, in the order of the object.
func (p *Pages) PoolServers(uuid string) (list []schema.Object) {
	p.fleet.Read(func(known *fleet.Known) {
		if pool := known.Pool(uuid); pool != nil {
			list = p.servers(known, pool, known.PoolHealth(pool))
		}
	})
	return list
}

func (p *Pages) servers(known *fleet.Known, pool *model.Pool, state health.Pool) []schema.Object {
	list := make([]schema.Object, len(pool.Members))
	for i, member := range pool.Members {
		list[i] = server(known, fleet.ServerKey{Pool: pool.UUID, Server: member.ID}, member, state.Servers[i])
	}
	slow := p.slow(pool.UUID)
	for i, member := range pool.Members {
		at := slices.IndexFunc(slow, func(s slowness.Server) bool { return s.ID == member.ID })
		if at >= 0 {
			list[i]["slow"] = slowPage(slow[at])
		}
	}
	return list
}

// slowPage says how slow a server is that needs far longer for its answers than the others of its pool.
func slowPage(slow slowness.Server) schema.Object {
	return schema.Object{
		"app_response_mean_ms": milliseconds(slow.Mean), "others_mean_ms": milliseconds(slow.Others),
		"percent_of_responses": 100 * slow.Share, "since": second(slow.Since),
	}
}

// slowServers are the slow servers of pools, the slowest of each pool first.
func (p *Pages) slowServers(pools []*model.Pool) []any {
	list := []any{}
	for _, pool := range pools {
		for _, slow := range p.slow(pool.UUID) {
			page := slowPage(slow)
			page["server_id"], page["pool_ref"] = slow.ID, schema.RefPath("pool", pool.UUID)
			list = append(list, page)
		}
	}
	return list
}

func server(known *fleet.Known, key fleet.ServerKey, member model.Member, state health.Server) schema.Object {
	status := operStatus(state.State, nonEmpty(state.Reason)...)
	if !state.Since.IsZero() {
		status["last_changed_time"] = second(state.Since)
	}
	engines := []any{}
	for _, seen := range state.Checked {
		engines = append(engines, verdict(known, seen, known.Engine(seen.Engine).Verdict(key)))
	}
	page := schema.Object{
		"ip_addr": schema.Object{"addr": member.IP.Addr, "type": member.IP.Type}, "port": int64(member.Address.Port()),
		"hostname": member.Hostname, "server_id": member.ID, "oper_status": status, "engines": engines,
	}
	counted(page, known.ServerCounters(key))
	serverTimed(page, known.ServerTimes(key))
	if took, checked := known.CheckTime(key); checked {
		page["check_ms"] = milliseconds(took)
	}
	return page
}

// verdict returns what one engine says about a server.
func verdict(known *fleet.Known, seen health.Seen, verdict *enginev1.ServerVerdict) schema.Object {
	monitors := []any{}
	for _, monitor := range verdict.GetMonitors() {
		monitors = append(monitors, schema.Object{
			"health_monitor_ref": schema.RefPath("healthmonitor", monitor.GetHealthMonitorUuid()),
			"up":                 monitor.GetUp(),
			"reason":             monitor.GetReason(), "response_time_us": int64(monitor.GetResponseTimeUs()),
		})
	}
	return schema.Object{
		"engine": known.Name(seen.Engine), "se_ref": schema.RefPath(engineKind, seen.Engine),
		"oper_status": operStatus(seen.State, nonEmpty(seen.Reason)...), "monitors": monitors,
	}
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
