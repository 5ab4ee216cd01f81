package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// shortageTellEvery is how often an engine that goes on being short of something is told of.
const shortageTellEvery = time.Minute

// shortages are what engines can be short of: the event, the causes that its data plane counts, and what it did.
var shortages = []struct {
	event  string
	causes []string
	did    string
}{
	{"CONN_DROP_MAX_FLOW_TBL", []string{"engine_evicted", "engine_refused"},
		"its places for clients run short: it sent %d away that held most or moved least, of %s"},
	{"CONN_DROP_NO_CONN_MEM", []string{"engine_memory"},
		"its memory for what clients do not take runs short: it sent %d away that held most and moved least, of %s"},
}

// hardship is what an engine was short of and nobody was told yet.
type hardship struct {
	toldAt  time.Time
	clients map[string]uint64 // sent away, by virtual service
}

// tellShortages tells of clients that an engine had to send away between its last two samples: at once, and then each minute.
func (f *Fleet) tellShortages(engineUUID string, engine *engine) {
	for _, shortage := range shortages {
		hard := engine.hardships[shortage.event]
		if hard == nil {
			hard = &hardship{clients: map[string]uint64{}}
			engine.hardships[shortage.event] = hard
		}
		engine.countSentAway(hard, shortage.causes)
		if len(hard.clients) == 0 || f.now().Sub(hard.toldAt) < shortageTellEvery {
			continue
		}
		f.events.Add(events.Entry{
			ID: shortage.event, Kind: "SERVICEENGINE", UUID: engineUUID, Name: f.name(engineUUID), Tenant: adminTenant,
			Message: fmt.Sprintf(shortage.did, sum(hard.clients), f.whose(hard.clients)), Related: slices.Sorted(maps.Keys(hard.clients)),
		})
		hard.toldAt, hard.clients = f.now(), map[string]uint64{}
	}
}

func (e *engine) countSentAway(hard *hardship, causes []string) {
	if e.earlier == nil {
		return
	}
	for uuid, now := range e.sample.services {
		for _, cause := range causes {
			then := errorsIn(e.earlier.service(uuid), cause)
			if total := errorsIn(now, cause); total > then {
				hard.clients[uuid] += total - then
			}
		}
	}
}

func sum(clients map[string]uint64) uint64 {
	var all uint64
	for _, count := range clients {
		all += count
	}
	return all
}

// whose names the virtual services, those that lost most first: "shop (12), web (3)".
func (f *Fleet) whose(clients map[string]uint64) string {
	uuids := slices.SortedFunc(maps.Keys(clients), func(a, b string) int {
		return int(clients[b]) - int(clients[a])
	})
	var names []string
	for _, uuid := range uuids {
		name := uuid
		if service := f.services[uuid]; service != nil {
			name = service.Name
		}
		names = append(names, fmt.Sprintf("%s (%d)", name, clients[uuid]))
	}
	return strings.Join(names, ", ")
}
