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
	shared := len(pool.Members) > serversMax
	sum := map[string]int64{}
	up, engines := 0.0, 0.0
	for i := range pool.Members {
		id := pool.Members[i].ID
		key := fleet.ServerKey{Pool: pool.UUID, Server: id}
		counts := known.CountedOfServer(key)
		share, isSeen := known.ShareUp(key)
		took, _ := known.CheckTime(key)
		if !shared {
			c.observeServer(seen, pool, id, at, counts, share, one(isSeen),
				known.ServerTimingsOf(key), took)
			continue
		}
		for name, value := range counts {
			sum[name] += value
		}
		up, engines = up+share, engines+one(isSeen)
	}
	defer c.readScore(pool, seen, at)
	if shared {
		c.observeServer(seen, pool, allServers, at, sum, up, engines, nil, 0)
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// observeServer takes the numbers of one server, or of all. up is how many of those that are seen are up. timings is
// nil for all together: to keep those of each server would need much memory. took is how long health monitors take; 0:
// it is not known.
func (c *collector) observeServer(seen map[string]bool, pool *model.Pool, server string, at time.Time,
	counts map[string]int64, up, isSeen float64, timings map[string]fleet.ServerTiming,
	took time.Duration) {
	key := pool.UUID + "/" + server
	if len(counts) == 0 && c.groups[key] == nil {
		return
	}
	of := labelled{pool: pool.Name, tenant: c.config.TenantName(pool.Tenant()), tenantUUID: pool.Tenant(),
		server: server, uuid: pool.UUID}
	c.observe(seen, key, "server", of, at, func(r *readings) {
		for name, value := range counts {
			if class, is := strings.CutPrefix(name, responsePrefix); is {
				r.counterOf("weir_server_responses", value, "class", class)
			} else if name == fleet.ConnectTicks {
				r.total("weir_server_connect_seconds_sum", float64(value)/ticksPerSecond)
			} else if strings.HasPrefix(name, openPrefix) {
				r.open("weir_server_"+name, float64(value))
			} else {
				r.counter("weir_server_"+name, value)
			}
		}
		if timings != nil {
			fresh := r.serverTimings(timings)
			r.serverApdex(score.Profile(pool.Analytics), counts, &fresh)
		}
		if len(r.group.entries) > 0 { // not for servers that never had a request
			r.gauge("weir_server_up", up)
			r.gauge("weir_server_seen", isSeen)
			if took > 0 {
				r.gauge("weir_server_check_seconds", took.Seconds())
			}
			if c.config.Scores != nil && server != allServers {
				of, graded := c.config.Scores.ServerScore(fleet.ServerKey{Pool: pool.UUID, Server: server})
				r.score("weir_server_", of, graded)
			}
		}
	})
}
