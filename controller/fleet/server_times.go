package fleet

import (
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/histogram"
	"github.com/weir-lb/weir/controller/model"
)

// ServerTimes says how long a server needed within Span, which is at most a minute.
type ServerTimes struct {
	Span         time.Duration
	AppResponse  histogram.Coarse // of requests that it answered to the end, without the round trip
	Connects     uint64
	connectTicks uint64
}

// MeanConnect is the mean time in which connections were established; 0: none was.
func (t *ServerTimes) MeanConnect() time.Duration {
	if t.Connects == 0 {
		return 0
	}
	return time.Duration(float64(t.connectTicks) / float64(t.Connects) / ticksPerSecond * float64(time.Second))
}

const ticksPerSecond = 1 << 20 // see Histogram in the contract

// ServerTimes adds up the times of a server over all engines that work.
func (k *Known) ServerTimes(key ServerKey) (sum ServerTimes) {
	for _, engine := range k.countingPool(key.Pool) {
		if engine.Works() {
			sum.add(key, engine.Sample, engine.serverMinute)
		}
	}
	return sum
}

// recentLeast makes the recent past 15 to 35 seconds long, as moments are 20 s apart.
const recentLeast = 15 * time.Second

// AppTimes returns how long each server of a pool needed for its answers in the recent past, in the order of the
// members of the pool.
func (k *Known) AppTimes(pool *model.Pool) []health.ServerTime {
	return k.appTimes(pool, func(sum *ServerTimes, key ServerKey, _ string, engine *Engine) {
		sum.add(key, engine.Sample, engine.serverMinute.recent(engine.Sample.at(), recentLeast))
	})
}

// AppTimesSince is as AppTimes, since earlier samples of the engines, by uuid.
func (k *Known) AppTimesSince(earlier map[string]*Sample, pool *model.Pool) []health.ServerTime {
	return k.appTimes(pool, func(sum *ServerTimes, key ServerKey, uuid string, engine *Engine) {
		if before := earlier[uuid]; before != nil {
			var then *dataplanev1.Histogram
			if before.process == engine.Sample.process {
				then = before.Server(key).GetAppResponse()
			}
			addContinued(&sum.AppResponse, engine.Sample.Server(key).GetAppResponse(), then)
		}
	})
}

func (k *Known) appTimes(pool *model.Pool,
	add func(sum *ServerTimes, key ServerKey, uuid string, engine *Engine)) []health.ServerTime {
	sums := make([]ServerTimes, len(pool.Members))
	for uuid := range k.assignedTo(pool) {
		engine := k.engines[uuid]
		if !engine.Works() || engine.Sample == nil {
			continue
		}
		for i, member := range pool.Members {
			add(&sums[i], ServerKey{pool.UUID, member.ID}, uuid, engine)
		}
	}
	times := make([]health.ServerTime, len(sums))
	for i := range sums {
		times[i] = health.ServerTime{Answers: sums[i].AppResponse.Count(), Mean: sums[i].AppResponse.Mean()}
	}
	return times
}

// add adds what one engine counted since the first of its moments.
func (t *ServerTimes) add(key ServerKey, sample *Sample, since minute[map[ServerKey]serverTimes]) {
	now := serverTimesOf(sample.Server(key))
	if now == (serverTimes{}) {
		return
	}
	then := earliest(since, key)
	t.Span = max(t.Span, sample.at().Sub(since[0].at))
	addContinued(&t.AppResponse, now.appResponse, then.appResponse)
	if now.connects < then.connects || now.connectTicks < then.connectTicks {
		then = serverTimes{}
	}
	t.Connects += now.connects - then.connects
	t.connectTicks += now.connectTicks - then.connectTicks
}

// serverStep makes at most 4 moments. There are far more servers than virtual services, so they have fewer moments.
const serverStep = 20 * time.Second

// serverTimes is what a server had counted at a moment.
type serverTimes struct {
	appResponse            *dataplanev1.Histogram
	connects, connectTicks uint64
}

func serverTimesOf(counters *dataplanev1.ServerCounters) serverTimes {
	times := serverTimes{appResponse: counters.GetAppResponse()}
	if ticks := counters.GetConnectTicksTotal(); ticks > 0 { // servers of UDP have none
		times.connects, times.connectTicks = counters.GetConnectionsTotal(), ticks
	}
	return times
}

// serverTimes keeps the times of a sample, and nothing else of it. As serviceTimes does, it keeps a histogram only
// once.
func (s *Sample) serverTimes(before map[ServerKey]serverTimes) map[ServerKey]serverTimes {
	all := map[ServerKey]serverTimes{}
	for _, counters := range s.GetServers() {
		key, times := ServerKey{counters.GetPoolUuid(), counters.GetServerId()}, serverTimesOf(counters)
		if times == (serverTimes{}) {
			continue
		}
		if earlier := before[key].appResponse; earlier != nil && isSame(times.appResponse, earlier) {
			times.appResponse = earlier
		}
		all[key] = times
	}
	return all
}
