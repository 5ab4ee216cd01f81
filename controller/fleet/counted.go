package fleet

import (
	"maps"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

// HasModel tells whether the state that the controller wants is known. A new leader has to read it first.
func (k *Known) HasModel() bool { return k.state.Model != nil }

// Model returns the newest model. A model never changes: a look may keep it.
func (k *Known) Model() *model.Model { return k.wanted.model }

// CountedOfService returns what engines have counted of a virtual service since this leader heard of them, by the name
// of the counter: what a data plane had counted before is not in it. The counts never fall while this leader runs;
// gauges are as they are now. Nil: no engine has counters of the virtual service.
func (k *Known) CountedOfService(uuid string) map[string]int64 {
	sum := maps.Clone(k.past.services[uuid])
	for _, engine := range k.CountingService(uuid) {
		sum = sum.with(serviceCounts(engine.Sample.Service(uuid), nil), engine)
	}
	return since(sum, k.before.services[uuid])
}

// CountsOf returns what a row of a sample has, by the name of the counter.
func CountsOf(row *dataplanev1.VirtualServiceCounters) map[string]int64 {
	return totals(nil).plus(serviceCounts(row, nil))
}

// CountedOfServer is as CountedOfService, of a server.
func (k *Known) CountedOfServer(server ServerKey) map[string]int64 {
	sum := maps.Clone(k.past.servers[server])
	for _, engine := range k.countingPool(server.Pool) {
		if now := engine.Sample.Server(server); now != nil {
			sum = sum.with(serverCounts(now, nil), engine)
		}
	}
	return since(sum, k.before.servers[server])
}

func since(totals map[string]int64, before totals) map[string]int64 {
	for name, count := range before {
		if _, counted := totals[name]; counted {
			totals[name] = max(0, totals[name]-count)
		}
	}
	return totals
}

// Timing is the cumulative times of a virtual service as one process of an engine has counted them.
type Timing struct {
	Process uint32
	Now     *dataplanev1.Times
	Before  *dataplanev1.Times // when this leader first heard of the engine; nil: nothing, or it was another process
	// The round trips to clients, of some connections, in the same way.
	ClientRTT, ClientRTTBefore *dataplanev1.Histogram
}

// TimingsOf returns the times of a virtual service, by uuid of the engine.
func (k *Known) TimingsOf(uuid string) (timings map[string]Timing) {
	for id, engine := range k.CountingService(uuid) {
		counters := engine.Sample.Service(uuid)
		if counters.GetTimes() != nil || counters.GetClientRtt() != nil {
			timing := Timing{Process: engine.Sample.process, Now: counters.GetTimes(),
				ClientRTT: counters.GetClientRtt()}
			if engine.Sample.process == 0 {
				timing.Before, timing.ClientRTTBefore = engine.begun[uuid].requests, engine.begun[uuid].clientRTT
			}
			if timings == nil {
				timings = map[string]Timing{}
			}
			timings[id] = timing
		}
	}
	return timings
}

// ServerTiming is the cumulative times of a server as one process of an engine has counted them.
type ServerTiming struct {
	Process uint32
	Now     *dataplanev1.Histogram // without the round trip; of scale 1
	// Whole: all of it was counted since this leader began.
	Whole bool
}

// ServerTimingsOf returns the times of a server, by uuid of the engine.
func (k *Known) ServerTimingsOf(server ServerKey) (timings map[string]ServerTiming) {
	for id, engine := range k.countingPool(server.Pool) {
		if now := engine.Sample.Server(server).GetAppResponse(); now != nil {
			if timings == nil {
				timings = map[string]ServerTiming{}
			}
			timings[id] = ServerTiming{engine.Sample.process, now, engine.Sample.process > 0 || !engine.counted}
		}
	}
	return timings
}

// CountedBefore tells whether the data plane that ran when this leader first heard of the engine may have counted
// before.
func (e *Engine) CountedBefore() bool { return e.counted }

// Process numbers the data planes of an engine, in the order in which they ran.
func (s *Sample) Process() uint32 { return s.process }

// ShareUp returns the share of the engines that find a server up, among those that work and have it. false: none has.
func (k *Known) ShareUp(server ServerKey) (share float64, known bool) {
	engines, up := 0, 0
	for _, engine := range k.countingPool(server.Pool) {
		counters := engine.Sample.Server(server)
		if counters == nil || !engine.Works() {
			continue
		}
		if engines++; counters.GetUp() {
			up++
		}
	}
	if engines == 0 {
		return 0, false
	}
	return float64(up) / float64(engines), true
}
