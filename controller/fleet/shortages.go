package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// shortageTellEvery is the time between two events about the same shortage of an engine.
const shortageTellEvery = time.Minute

// shortages is the number of kinds of shortage.
const shortages = len(causesOf)

// causesOf are the causes that a data plane counts when it sends a client away, by the kind of shortage.
var causesOf = [...][]string{
	events.ShortOfPlaces: {"engine_evicted", "engine_refused", "engine_sessions"},
	events.ShortOfMemory: {"engine_memory"},
}

// sentAway counts the clients that an engine sent away because of one kind of shortage, and that no event has reported
// yet.
type sentAway struct {
	reportedAt time.Time         // of the last event
	clients    map[string]uint64 // by virtual service
}

// tellShortages adds an event if the engine sent clients away between its last two samples: one when the shortage
// begins, then one each minute.
func (f *Fleet) tellShortages(engineUUID string, engine *Engine) {
	for shortage, causes := range causesOf {
		unreported := &engine.sentAway[shortage]
		engine.countSentAway(unreported, causes)
		if len(unreported.clients) == 0 || f.now().Sub(unreported.reportedAt) < shortageTellEvery {
			continue
		}
		f.tell(f.called(engineUUID).SentAway(events.Shortage(shortage), f.losses(unreported.clients)))
		*unreported = sentAway{reportedAt: f.now()}
	}
}

func (e *Engine) countSentAway(unreported *sentAway, causes []string) {
	if e.Earlier == nil {
		return
	}
	for at, now := range e.Sample.GetVirtualServices() {
		then := e.Earlier.serviceAt(at, e.Sample)
		if then == now {
			continue
		}
		uuid, earlier := now.GetUuid(), then.GetErrors()
		for _, cause := range causes {
			then := errorsIn(earlier, cause)
			if total := errorsIn(now.GetErrors(), cause); total > then {
				unreported.add(uuid, total-then)
			}
		}
	}
}

func (s *sentAway) add(serviceUUID string, clients uint64) {
	if s.clients == nil {
		s.clients = map[string]uint64{}
	}
	s.clients[serviceUUID] += clients
}

// losses returns the clients that each virtual service has lost, the largest number first.
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
