package fleet

import (
	"slices"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/histogram"
)

// Times says how long requests took that servers answered to the end within Span, which is at most a minute.
type Times struct {
	Span                            time.Duration
	Total, Wait, Response, Transfer histogram.Histogram
	ServerRTT, AppResponse          histogram.Histogram // the parts of Response
	ClientRTT                       histogram.Histogram // of some connections, and no part of Total
}

// ServiceTimes adds up the times of a virtual service over all engines that work.
func (k *Known) ServiceTimes(uuid string) (sum Times) {
	for _, engine := range k.CountingService(uuid) {
		now := engine.Sample.Service(uuid)
		if now.GetTimes() == nil && now.GetClientRtt() == nil || !engine.Works() {
			continue
		}
		then := earliest(engine.serviceMinute, uuid)
		sum.Span = max(sum.Span, engine.Sample.at().Sub(engine.serviceMinute[0].at))
		sum.Add(now.GetTimes(), then.requests)
		addContinued(&sum.ClientRTT, now.GetClientRtt(), then.clientRTT)
	}
	return sum
}

// Add adds what an engine counted between two samples. If the engine has lost the virtual service in between and got it
// back, it has counted again from zero.
func (t *Times) Add(now, then *dataplanev1.Times) {
	if !continues(now, then) {
		then = nil
	}
	was := partsOf(then)
	sums := [...]*histogram.Histogram{&t.Total, &t.Wait, &t.Response, &t.Transfer, &t.ServerRTT, &t.AppResponse}
	for i, is := range partsOf(now) {
		sums[i].Add(is, was[i])
	}
}

// AddClientRTT is as Add, for round trips to clients.
func (t *Times) AddClientRTT(now, then *dataplanev1.Histogram) { addContinued(&t.ClientRTT, now, then) }

// Join adds other times.
func (t *Times) Join(other *Times) {
	t.Total.Join(&other.Total)
	t.Wait.Join(&other.Wait)
	t.Response.Join(&other.Response)
	t.Transfer.Join(&other.Transfer)
	t.ServerRTT.Join(&other.ServerRTT)
	t.AppResponse.Join(&other.AppResponse)
	t.ClientRTT.Join(&other.ClientRTT)
}

// addContinued is as Times.Add, for one histogram.
func addContinued(sum interface {
	Add(now, then *dataplanev1.Histogram)
}, now, then *dataplanev1.Histogram) {
	if !histogram.Continues(now, then) {
		then = nil
	}
	sum.Add(now, then)
}

func continues(now, then *dataplanev1.Times) bool {
	was := partsOf(then)
	for i, is := range partsOf(now) {
		if !histogram.Continues(is, was[i]) {
			return false
		}
	}
	return true
}

func partsOf(times *dataplanev1.Times) [6]*dataplanev1.Histogram {
	return [...]*dataplanev1.Histogram{
		times.GetTotal(), times.GetWait(), times.GetResponse(), times.GetTransfer(),
		times.GetServerRtt(), times.GetAppResponse(),
	}
}

// serviceStep makes at most 13 moments.
const serviceStep = 5 * time.Second

// serviceTimes is what a virtual service had counted at a moment.
type serviceTimes struct {
	requests  *dataplanev1.Times
	clientRTT *dataplanev1.Histogram
}

// serviceTimes keeps the times of a sample, and nothing else of it. Where nothing has been counted since the moment
// before, it keeps the times of that moment: idle virtual services then have the same in all moments.
func (s *Sample) serviceTimes(before map[string]serviceTimes) map[string]serviceTimes {
	all := map[string]serviceTimes{}
	for _, counters := range s.GetVirtualServices() {
		uuid, times := counters.GetUuid(), serviceTimes{counters.GetTimes(), counters.GetClientRtt()}
		if times == (serviceTimes{}) {
			continue
		}
		earlier := before[uuid]
		if earlier.requests != nil && isSame(times.requests.GetTotal(), earlier.requests.GetTotal()) {
			times.requests = earlier.requests
		}
		if earlier.clientRTT != nil && isSame(times.clientRTT, earlier.clientRTT) {
			times.clientRTT = earlier.clientRTT
		}
		all[uuid] = times
	}
	return all
}

func isSame(a, b *dataplanev1.Histogram) bool {
	return a == b || a.GetSumTicks() == b.GetSumTicks() && a.GetFirst() == b.GetFirst() &&
		slices.Equal(a.GetCounts(), b.GetCounts())
}
