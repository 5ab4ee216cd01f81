package fleet_test

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func serverTimes(s *fleettest.Stage) (times fleet.ServerTimes) {
	s.Read(func(known *fleet.Known) {
		times = known.ServerTimes(fleet.ServerKey{Pool: "pool-1", Server: "10.0.0.1:80"})
	})
	return times
}

func wantServerTimes(s *fleettest.Stage, when string, requests uint64, span time.Duration) {
	s.Helper()
	times := serverTimes(s)
	if times.AppResponse.Count() != requests || times.Connects != requests || times.Span != span {
		s.Errorf("%s: %d responses and %d connects in %v, want %d in %v", when, times.AppResponse.Count(),
			times.Connects, times.Span, requests, span)
	}
}

func TestTimesOfAServerAddUpOverTheEnginesThatWork(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one", "se-two")
	wantServerTimes(s, "before a sample", 0, 0)
	s.ServerTimed("se-one", 7, 0, 1000)
	s.ServerTimed("se-two", 8, 0, 0)
	wantServerTimes(s, "what was counted before the controller began", 0, 0)
	s.ServerTimed("se-one", 7, 2*time.Second, 1006)
	s.ServerTimed("se-two", 8, time.Second, 4)
	wantServerTimes(s, "both", 10, 2*time.Second)
	times := serverTimes(s)
	if mean, want := times.AppResponse.Mean(), 40<<10*time.Second>>20; mean != want {
		t.Errorf("the mean is %v, want %v", mean, want)
	}
	if mean, want := times.MeanConnect(), time.Second>>10; mean != want {
		t.Errorf("the mean of the connects is %v, want %v", mean, want)
	}
	s.Disconnected("se-one", "gone")
	wantServerTimes(s, "one is away", 4, time.Second)
}

func TestTimesOfAServerAreThoseOfTheLastMinute(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one")
	for second := range 200 {
		s.ServerTimed("se-one", 7, time.Duration(second)*time.Second, uint32(10*second))
		span := serverTimes(s).Span
		if least := min(time.Duration(second), 41) * time.Second; span < least || span > time.Minute {
			t.Fatalf("second %d: the span is %v", second, span)
		}
		wantServerTimes(s, "in between", 10*uint64(span/time.Second), span)
	}
	s.ServerTimed("se-one", 7, 200*time.Second, 3)
	if times := serverTimes(s); times.AppResponse.Count() != 3 || times.Connects != 3 {
		t.Errorf("the server left and came back: %d responses, %d connects", times.AppResponse.Count(), times.Connects)
	}
	s.ServerTimed("se-one", 9, 201*time.Second, 5)
	wantServerTimes(s, "the next process", 5, time.Second)
}

func TestAppTimesAreThoseOfTheRecentPast(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one", "se-two")
	for second := range 200 {
		s.ServerTimed("se-one", 7, time.Duration(second)*time.Second, uint32(10*second))
		s.ServerTimed("se-two", 7, time.Duration(second)*time.Second, uint32(second))
		s.Read(func(known *fleet.Known) {
			answers := known.AppTimes(known.Pool("pool-1"))[0].Answers
			if least := min(second, 15); answers < uint64(11*least) || answers > 11*36 {
				t.Fatalf("second %d: %d answers", second, answers)
			}
		})
	}
}

func TestAppTimesSinceSamplesAreOfTheSameProcessOnly(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one", "se-two")
	s.ServerTimed("se-one", 7, 0, 100)
	s.ServerTimed("se-two", 7, 0, 50)
	earlier := map[string]*fleet.Sample{}
	s.Read(func(known *fleet.Known) {
		earlier["se-one"], earlier["se-two"] = known.Engine("se-one").Sample, known.Engine("se-two").Sample
	})
	s.ServerTimed("se-one", 7, time.Second, 104)
	s.ServerTimed("se-two", 8, time.Second, 20) // its data plane is a new one
	s.Read(func(known *fleet.Known) {
		if answers := known.AppTimesSince(earlier, known.Pool("pool-1"))[0].Answers; answers != 4+20 {
			t.Errorf("got %d", answers)
		}
		delete(earlier, "se-two")
		if answers := known.AppTimesSince(earlier, known.Pool("pool-1"))[0].Answers; answers != 4 {
			t.Errorf("got %d without the second engine", answers)
		}
	})
}
