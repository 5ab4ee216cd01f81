package metrics

import (
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
)

// allServers is the server in the labels of a pool whose servers share their series.
const allServers = "*"

func (c *collector) readPool(known *fleet.Known, pool *model.Pool, seen map[string]bool, at time.Time) {
	turn, used := known.PoolTurn(pool.UUID), false
	switch {
	case c.isBlank(pool.UUID, turn):
	case len(pool.Members) > serversMax:
		used = c.observeAll(known, pool, seen, at, turn)
	default:
		for i := range pool.Members {
			if c.observeServer(known, pool, pool.Members[i].ID, seen, at, turn) {
				used = true
			}
		}
	}
	c.note(pool.UUID, !used, turn)
	c.readQueue(known, pool, seen, at)
	c.readScore(pool, used, seen, at)
}

// labelsOf are those of a server.
func (c *collector) labelsOf(pool *model.Pool, server string) labelled {
	return labelled{pool: pool.Name, tenant: c.config.TenantName(pool.Tenant()), tenantUUID: pool.Tenant(),
		server: server, uuid: pool.UUID}
}

// timedMost is the number of servers of the largest pool whose times are added up: for that, what each engine had timed
// of each server at the last collection stays in memory.
const timedMost = 1000

// observeAll takes the numbers of all servers of a pool together. It tells whether they have series.
func (c *collector) observeAll(known *fleet.Known, pool *model.Pool, seen map[string]bool, at time.Time,
	turn fleet.Turn) bool {
	key := pool.UUID + "/" + allServers
	g := c.groups[key]
	c.observe(seen, key, "server", c.labelsOf(pool, allServers), at, func(r *readings) {
		if g != nil && g.turn == turn {
			r.repeat()
			return
		}
		r.group.turn = turn
		sum, up, engines, timings := map[string]int64{}, 0.0, 0.0, map[string]fleet.ServerTiming{}
		for i := range pool.Members {
			key := fleet.ServerKey{Pool: pool.UUID, Server: pool.Members[i].ID}
			for name, value := range known.CountedOfServer(key) {
				sum[name] += value
			}
			share, isSeen := known.ShareUp(key)
			up, engines = up+share, engines+one(isSeen)
			if len(pool.Members) <= timedMost {
				for engine, timing := range known.ServerTimingsOf(key) {
					timings[engine+"/"+key.Server] = timing
				}
			}
		}
		r.serverCounts(sum, up, engines)
		if len(pool.Members) <= timedMost {
			fresh := r.serverTimings(timings)
			r.serverApdex(score.Profile(pool.Analytics), sum, &fresh)
		}
	})
	return c.groups[key] != nil
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// observeServer takes the numbers of one server. It tells whether the server has series.
func (c *collector) observeServer(known *fleet.Known, pool *model.Pool, server string, seen map[string]bool,
	at time.Time, turn fleet.Turn) bool {
	id, key := fleet.ServerKey{Pool: pool.UUID, Server: server}, pool.UUID+"/"+server
	g := c.groups[key]
	c.observe(seen, key, "server", c.labelsOf(pool, server), at, func(r *readings) {
		if g != nil && g.turn == turn {
			r.repeat()
		} else {
			r.server(known, id, pool)
		}
		r.group.turn = turn
		if len(r.group.entries) == 0 { // a server that never had a request
			return
		}
		if took, _ := known.CheckTime(id); took > 0 {
			r.gauge("weir_server_check_seconds", took.Seconds())
		}
		if c.config.Scores != nil {
			of, graded := c.config.Scores.ServerScore(id)
			r.score("weir_server_", of, graded)
		}
	})
	return c.groups[key] != nil
}

// server reads what was counted of a server.
func (r *readings) server(known *fleet.Known, id fleet.ServerKey, pool *model.Pool) {
	counts := known.CountedOfServer(id)
	share, isSeen := known.ShareUp(id)
	r.serverCounts(counts, share, one(isSeen))
	fresh := r.serverTimings(known.ServerTimingsOf(id))
	r.serverApdex(score.Profile(pool.Analytics), counts, &fresh)
}

// serverCounts takes counts. up is how many of the servers that are seen are up.
func (r *readings) serverCounts(counts map[string]int64, up, isSeen float64) {
	r.counting = true
	defer func() { r.counting = false }()
	for name, value := range counts {
		if class, is := strings.CutPrefix(name, responsePrefix); is {
			r.counterOf("weir_server_responses", value, "class", class)
		} else if class, is := strings.CutPrefix(name, excludedPrefix); is {
			r.counterOf("weir_server_excluded_responses", value, "class", class)
		} else if name == fleet.ConnectTicks {
			r.total("weir_server_connect_seconds_sum", float64(value)/ticksPerSecond)
		} else if strings.HasPrefix(name, openPrefix) {
			r.open("weir_server_"+name, float64(value))
		} else {
			r.counter("weir_server_"+name, value)
		}
	}
	if len(r.group.entries) > 0 { // not for servers that never had a request
		r.gauge("weir_server_up", up)
		r.gauge("weir_server_seen", isSeen)
	}
}
