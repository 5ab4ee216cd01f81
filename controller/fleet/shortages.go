package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// shortageTellEvery is how often an engine that goes on being short of something is told of.
const shortageTellEvery = time.Minute

// shortages are how many things an engine can be short of.
const shortages = len(causesOf)

// causesOf are what a data plane counts when it sends a client away, by what it is short of.
var causesOf = [...][]string{
	events.ShortOfPlaces: {"engine_evicted", "engine_refused"},
	events.ShortOfMemory: {"engine_memory"},
}

// hardship is what an engine was short of and nobody was told yet.
type hardship struct {
	toldAt  time.Time
	clients map[string]uint64 // sent away, by virtual service
}

// tellShortages tells of clients that an engine had to send away between its last two samples: at once, and then each
// minute.
func (f *Fleet) tellShortages(engineUUID string, engine *Engine) {
	for shortage, causes := range causesOf {
		hard := &engine.hardships[shortage]
		engine.countSentAway(hard, causes)
		if len(hard.clients) == 0 || f.now().Sub(hard.toldAt) < shortageTellEvery {
			continue
		}
		f.tell(f.called(engineUUID).SentAway(events.Shortage(shortage), f.losses(hard.clients)))
		*hard = hardship{toldAt: f.now()}
	}
}

func (e *Engine) countSentAway(hard *hardship, causes []string) {
	if e.Earlier == nil {
		return
	}
	for uuid, now := range e.Sample.services {
		for _, cause := range causes {
			then := errorsIn(e.Earlier.Service(uuid), cause)
			if total := errorsIn(now, cause); total > then {
				hard.add(uuid, total-then)
			}
		}
	}
}

func (h *hardship) add(serviceUUID string, clients uint64) {
	if h.clients == nil {
		h.clients = map[string]uint64{}
	}
	h.clients[serviceUUID] += clients
}

// losses are the clients that virtual services lost, those that lost most first.
func (f *Fleet) losses(clients map[string]uint64) (losses []events.Loss) {
	for _, uuid := range slices.Sorted(maps.Keys(clients)) {
		loss := events.Loss{VirtualService: uuid, Name: uuid, Clients: clients[uuid]}
		if service := f.known.services[uuid]; service != nil {
			loss.Name = service.Name
		}
		losses = append(losses, loss)
	}
	slices.SortStableFunc(losses, func(a, b events.Loss) int { return cmp.Compare(b.Clients, a.Clients) })
	return losses
}
