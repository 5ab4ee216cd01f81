package events

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// serversTold limits the events of one pool and one comparison: so many servers that came up, or went down, have an
// event each; one more event counts the others. Otherwise a large pool that goes down would push all else out of the
// log.
const serversTold = 20

// server names a server: by the uuid of its pool, and by its id in there.
type server struct{ pool, id string }

// pools compares the states of pools and servers with the earlier ones. The first known state gives no event: the pool
// is new, or this leader has just begun. A state that is neither up nor down leaves the earlier one in place.
func (w *Watcher) pools() {
	for pool, state := range w.states.Pools() {
		w.servers(pool, state.Servers)
		if state.IsUnsure() {
			w.poolsUp.keep(pool.UUID)
		} else if turned(&w.poolsUp, pool.UUID, state.State) {
			w.log.Add(poolEntry(pool, "POOL", state.State, saying(state.State, firstOf(state.Reasons))))
		}
	}
	w.poolsUp.end()
	w.serversUp.end()
}

func (w *Watcher) servers(pool *model.Pool, states []health.Server) {
	told := map[health.State]int{}
	for i, member := range pool.Members {
		state := states[i]
		if !turned(&w.serversUp, server{pool.UUID, member.ID}, state.State) {
			continue
		}
		if told[state.State]++; told[state.State] <= serversTold {
			w.log.Add(poolEntry(pool, "SERVER", state.State, "server "+member.ID+" "+saying(state.State, state.Reason)))
		}
	}
	for state, count := range told {
		if more := count - serversTold; more > 0 {
			w.log.Add(poolEntry(pool, "SERVER", state, fmt.Sprintf("%d more servers are %s", more, upOrDown(state))))
		}
	}
}

// turned notes a state, and tells whether what was up is down now, or the other way round.
func turned[K comparable](earlier *memory[K], key K, state health.State) bool {
	if state != health.Up && state != health.Down {
		earlier.keep(key)
		return false
	}
	up := state == health.Up
	was, known := earlier.note(key, up)
	return known && was != up
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

// saying is "is up", or "is down: connection refused".
func saying(state health.State, reason string) string {
	if state == health.Up {
		return "is up"
	}
	return strings.TrimSuffix("is down: "+reason, ": ")
}
