package events

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// serversTold limits the events about one pool in one comparison. This number of servers that came up, or went down,
// have an event each; one more event counts the others. Without the limit, a large pool that goes down would push all
// other events out of the list.
const serversTold = 20

// pools compares the states of pools and servers with the earlier ones. The first state gives no event, because the
// pool is new, or this leader has just begun. A state that is neither up nor down leaves the earlier one in place.
func (w *Watcher) pools(news News) {
	for _, uuid := range news.PoolsGone {
		delete(w.poolsUp, uuid)
		delete(w.serversUp, uuid)
	}
	for _, n := range news.Pools {
		w.servers(n.Pool, n.Health.Servers)
		if !n.Health.IsUnsure() && turned(w.poolsUp, n.Pool.UUID, n.Health.State) {
			w.log.Add(poolEntry(n.Pool, "POOL", n.Health.State, saying(n.Health.State, firstOf(n.Health.Reasons))))
		}
	}
}

func (w *Watcher) servers(pool *model.Pool, states []health.Server) {
	told, earlier := map[health.State]int{}, w.serversUp[pool.UUID]
	up := make(map[string]bool, len(pool.Members))
	for i, member := range pool.Members {
		state := states[i]
		if was, known := earlier[member.ID]; known {
			up[member.ID] = was
		}
		if !turned(up, member.ID, state.State) {
			continue
		}
		if told[state.State]++; told[state.State] <= serversTold {
			entry := poolEntry(pool, "SERVER", state.State, "server "+member.ID+" "+saying(state.State, state.Reason))
			entry.Part = member.ID
			w.log.Add(entry)
		}
	}
	w.serversUp[pool.UUID] = up
	for state, count := range told {
		if more := count - serversTold; more > 0 {
			w.log.Add(poolEntry(pool, "SERVER", state, fmt.Sprintf("%d more servers are %s", more, upOrDown(state))))
		}
	}
}

// turned stores the new state. It returns true if the state changed from up to down, or from down to up.
func turned(up map[string]bool, key string, state health.State) bool {
	if state != health.Up && state != health.Down {
		return false
	}
	was, known := up[key]
	up[key] = state == health.Up
	return known && was != up[key]
}

func poolEntry(pool *model.Pool, what string, state health.State, message string) Entry {
	id := what + "_" + strings.ToUpper(upOrDown(state))
	return Entry{ID: id, Kind: "POOL", UUID: pool.UUID, Name: pool.Name, Tenant: pool.Tenant(), Message: message}
}

func upOrDown(state health.State) string {
	if state == health.Up {
		return "up"
	}
	return "down"
}

// saying returns "is up", or "is down: connection refused".
func saying(state health.State, reason string) string {
	if state == health.Up {
		return "is up"
	}
	return strings.TrimSuffix("is down: "+reason, ": ")
}
