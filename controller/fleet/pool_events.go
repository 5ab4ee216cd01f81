package fleet

import (
	"fmt"
	"maps"
	"strings"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
)

// serversTold of one pool have an event each at one look, of those that came up and of those that went down; the others are
// counted. Otherwise a large pool that goes would take all else out of the memory of events.
const serversTold = 20

// verdicts are which servers and pools were up when somebody last could tell. Those of which nobody could tell yet are not in
// them, and those of which nobody can tell any more stay as they were.
type verdicts struct {
	pools   map[string]bool // by uuid
	servers map[serverKey]bool
}

func newVerdicts() verdicts { return verdicts{map[string]bool{}, map[serverKey]bool{}} }

// tellPools compares with which servers and pools were up before. The first verdict is told of none: it is set up, or this
// controller has just begun.
func (f *Fleet) tellPools(before verdicts) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	maps.DeleteFunc(before.pools, func(uuid string, _ bool) bool { return f.pools[uuid] == nil })
	maps.DeleteFunc(before.servers, func(key serverKey, _ bool) bool { return !f.members[key] })
	for uuid, pool := range f.pools {
		state := f.poolState(pool)
		f.tellServers(pool, state, before.servers)
		if !state.isUnsure() && turned(before.pools, uuid, state.state) {
			reasons := reasonsOf(operStatus(state.state, state.reasons...))
			f.events.Add(poolEvent(pool, "POOL", state.state, saying(state.state, reasons)))
		}
	}
}

func (f *Fleet) tellServers(pool *model.Pool, state poolState, before map[serverKey]bool) {
	told := map[string]int{}
	for i, member := range pool.Members {
		server := state.servers[i]
		if !turned(before, serverKey{pool.UUID, member.ID}, server.state) {
			continue
		}
		if told[server.state]++; told[server.state] <= serversTold {
			f.events.Add(poolEvent(pool, "SERVER", server.state, "server "+member.ID+" "+saying(server.state, server.reason)))
		}
	}
	for state, count := range told {
		if more := count - serversTold; more > 0 {
			f.events.Add(poolEvent(pool, "SERVER", state, fmt.Sprintf("%d more servers are %s", more, upOrDown(state))))
		}
	}
}

// turned notes the state of what is up or down, and tells whether it was the other before.
func turned[K comparable](before map[K]bool, key K, state string) bool {
	up := state == "OPER_UP"
	if !up && state != "OPER_DOWN" {
		return false
	}
	was, known := before[key]
	before[key] = up
	return known && was != up
}

func poolEvent(pool *model.Pool, what, state, message string) events.Entry {
	id := what + "_" + strings.ToUpper(upOrDown(state))
	return events.Entry{ID: id, Kind: "POOL", UUID: pool.UUID, Name: pool.Name, Tenant: pool.Tenant(), Message: message}
}

func upOrDown(state string) string {
	if state == "OPER_UP" {
		return "up"
	}
	return "down"
}

// saying is "is up", or "is down: connection refused".
func saying(state, reason string) string {
	if state == "OPER_UP" {
		return "is up"
	}
	return strings.TrimSuffix("is down: "+reason, ": ")
}
