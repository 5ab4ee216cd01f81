package fleet_test

import (
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/histogram"
)

// timesOf returns the number of requests whose times the fleet has, and the span.
func timesOf(s *fleettest.Stage) (requests uint64, span time.Duration) {
	s.Helper()
	s.Read(func(known *fleet.Known) {
		times := known.ServiceTimes("vs-1")
		requests, span = times.Total.Count(), times.Span
		for _, part := range []histogram.Histogram{
			times.Wait, times.Response, times.Transfer, times.ServerRTT, times.AppResponse,
		} {
			if count := part.Count(); count != requests {
				s.Errorf("%d requests, and %d in a part", requests, count)
			}
		}
	})
	return requests, span
}

func wantTimes(s *fleettest.Stage, when string, requests uint64, span time.Duration) {
	s.Helper()
	if gotRequests, gotSpan := timesOf(s); gotRequests != requests || gotSpan != span {
		s.Errorf("%s: %d requests in %v, want %d in %v", when, gotRequests, gotSpan, requests, span)
	}
}

func TestTimesAddUpOverTheEnginesThatWork(t *testing.T) {
	s := fleettest.New(t)
	wantTimes(s, "before the engines connect", 0, 0)
	s.Serve("se-one", "se-two")
	wantTimes(s, "before a sample", 0, 0)
	s.Timed("se-one", 7, 0, fleettest.Times(1000))
	s.Timed("se-two", 8, 0, nil)
	wantTimes(s, "what was counted before the controller began", 0, 0)
	s.Timed("se-one", 7, 2*time.Second, fleettest.Times(1005))
	s.Timed("se-two", 8, time.Second, fleettest.Times(2))
	wantTimes(s, "both", 7, 2*time.Second)
	s.Read(func(known *fleet.Known) {
		times := known.ServiceTimes("vs-1")
		for name, mean := range map[string][2]time.Duration{
			"wait":         {times.Wait.Mean(), 1 << 10 * time.Second >> 20},
			"response":     {times.Response.Mean(), 1 << 14 * time.Second >> 20},
			"transfer":     {times.Transfer.Mean(), 1 << 12 * time.Second >> 20},
			"total":        {times.Total.Mean(), 21 << 10 * time.Second >> 20},
			"server RTT":   {times.ServerRTT.Mean(), 1 << 12 * time.Second >> 20},
			"app response": {times.AppResponse.Mean(), 3 << 12 * time.Second >> 20},
		} {
			if mean[0] != mean[1] {
				t.Errorf("%s: the mean is %v, want %v", name, mean[0], mean[1])
			}
		}
	})
	s.Disconnected("se-one", "gone")
	wantTimes(s, "one is away", 2, time.Second)
}

func TestTimesAreThoseOfTheLastMinute(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	for second := range 300 {
		s.Timed("se-one", 7, time.Duration(second)*time.Second, fleettest.Times(uint32(10*second)))
		requests, span := timesOf(s)
		if least := min(time.Duration(second), 56) * time.Second; span < least || span > time.Minute {
			t.Fatalf("second %d: the span is %v", second, span)
		}
		if requests != 10*uint64(span/time.Second) {
			t.Fatalf("second %d: %d requests in %v", second, requests, span)
		}
	}
	s.Timed("se-one", 7, time.Hour, fleettest.Times(10_000))
	wantTimes(s, "after an hour without samples", 0, 0)
	s.Timed("se-one", 7, time.Hour+time.Second, fleettest.Times(10_003))
	wantTimes(s, "a second later", 3, time.Second)
}

func TestVirtualServiceWithoutRequestsHasNoTimesAfterAMinute(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	for second := range 70 {
		times, want := fleettest.Times(5), uint64(5)
		if second < 3 {
			times = nil
		}
		if second < 3 || second > 60 { // the moment at 0 s is too old by then
			want = 0
		}
		s.Timed("se-one", 7, time.Duration(second)*time.Second, times)
		if requests, _ := timesOf(s); requests != want {
			t.Errorf("second %d: %d requests, want %d", second, requests, want)
		}
	}
}

func TestTimesOfTheProcessBeforeAreGoneAndThoseOfTheNextCountFromItsBegin(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Timed("se-one", 7, 0, fleettest.Times(100))
	s.Timed("se-one", 7, time.Second, fleettest.Times(150))
	s.Timed("se-one", 9, 4*time.Second, fleettest.Times(200))
	wantTimes(s, "first sample of the next process", 200, 3*time.Second)
	s.Timed("se-one", 9, 5*time.Second, fleettest.Times(201))
	wantTimes(s, "second sample", 201, 4*time.Second)
	s.Timed("se-one", 11, 2*time.Minute, fleettest.Times(300))
	wantTimes(s, "a process that may have counted for more than a minute", 0, 0)
	s.Timed("se-one", 11, 2*time.Minute+time.Second, fleettest.Times(304))
	wantTimes(s, "a second later", 4, time.Second)
}

func TestTimesCountFromZeroForAVirtualServiceThatCameToTheEngineLater(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Timed("se-one", 7, 0, nil)
	s.Timed("se-one", 7, 10*time.Second, fleettest.Times(5))
	wantTimes(s, "it began later", 5, 10*time.Second)
	s.Timed("se-one", 7, 11*time.Second, nil)
	wantTimes(s, "it left", 0, 0)
}

func TestTimesOfAVirtualServiceThatLeftAndCameBackAreThoseSince(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Timed("se-one", 7, 0, fleettest.Times(100))
	s.Timed("se-one", 7, time.Second, fleettest.Times(120))
	s.Timed("se-one", 7, 2*time.Second, fleettest.Times(7)) // it left and came back, between two samples
	wantTimes(s, "it is back", 7, 2*time.Second)
	s.Timed("se-one", 7, 10*time.Second, nil)
	s.Timed("se-one", 7, 20*time.Second, fleettest.Times(500))
	wantTimes(s, "it was away for longer, and counted more than before", 500, 20*time.Second)
}

func TestTimesBeginAgainWhenTheClockOfAnEngineIsSetBack(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Timed("se-one", 7, time.Hour, fleettest.Times(100))
	s.Timed("se-one", 7, time.Hour+time.Second, fleettest.Times(110))
	s.Timed("se-one", 7, time.Minute, fleettest.Times(120))
	wantTimes(s, "set back", 0, 0)
	s.Timed("se-one", 7, time.Minute+time.Second, fleettest.Times(121))
	wantTimes(s, "a second later", 1, time.Second)
}

func TestRoundTripsToClientsAreThoseOfTheLastMinuteWithoutAnyRequestThatAServerAnswered(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	for second := range 70 {
		s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
			Pid: 7, UnixMs: uint64(fleettest.Clock.Add(time.Duration(second) * time.Second).UnixMilli()),
			VirtualServices: []*dataplanev1.VirtualServiceCounters{{
				Uuid: "vs-1", ClientRtt: fleettest.Times(uint32(second)).GetResponse(),
			}},
		}}})
	}
	s.Read(func(known *fleet.Known) {
		times := known.ServiceTimes("vs-1")
		if count := times.ClientRTT.Count(); count != uint64(times.Span/time.Second) || count < 56 || count > 60 {
			t.Errorf("%d round trips in %v", count, times.Span)
		}
		if times.Total.Count() != 0 || times.ClientRTT.Mean() != 1<<14*time.Second>>20 {
			t.Errorf("%d requests, and round trips of %v", times.Total.Count(), times.ClientRTT.Mean())
		}
	})
}

func TestTimesOfOtherVirtualServicesStayApart(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	s.Timed("se-one", 7, 0, nil)
	s.Timed("se-one", 7, time.Second, fleettest.Times(3))
	s.Read(func(known *fleet.Known) {
		if times := known.ServiceTimes("vs-2"); times != (fleet.Times{}) {
			t.Errorf("got %v", times)
		}
	})
}
