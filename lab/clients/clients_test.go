package clients

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/draw"
)

var start = time.UnixMicro(1_700_000_000_000_000)

func TestClientsOfOneCrowdAddUp(t *testing.T) {
	engineAt := func(address string) string { return "engine-" + address[len(address)-1:] }
	report := func(begunUs, firstUs int64) lab.LoadReport {
		return lab.LoadReport{Requests: 3, ErrorTotal: 1, Timeline: &lab.Timeline{
			BegunUnixUs: begunUs, FirstUs: map[string]int64{"10.1.0.1": firstUs},
			Seconds:  []lab.LoadSecond{{Answers: 3, PerValue: map[string]int64{"10.1.0.1": 3}, Failures: 1}},
			Failures: []lab.LoadFailure{{BegunUs: 10, FailedUs: 30, Cause: "reset", Value: "10.1.0.1"}},
		}}
	}
	s := Seen{First: map[string]time.Time{}}
	s.add(atWork{client: "client-1", over: Kept, protocol: "HTTP/2"}, report(start.UnixMicro(), 500), engineAt)
	s.add(atWork{client: "client-2", over: Afresh}, report(start.UnixMicro()+100, 200), engineAt)
	if s.Requests != 6 || s.Failed != 2 || len(s.Seconds) != 1 || s.Seconds[0].PerEngine["engine-1"] != 6 ||
		s.Seconds[0].Failures != 2 {
		t.Errorf("%+v", s)
	}
	if s.Seconds[0].PerProtocol["HTTP/2"] != 3 || len(s.Seconds[0].PerProtocol) != 1 {
		t.Errorf("by protocol: %v", s.Seconds[0].PerProtocol)
	}
	if s.Skew != 100*time.Microsecond {
		t.Errorf("the loads began %v apart", s.Skew)
	}
	if first := s.First["engine-1"]; !first.Equal(start.Add(300 * time.Microsecond)) {
		t.Errorf("first %v", first)
	}
	if f := s.Failures[1]; f.Client != "client-2" || f.Engine != "engine-1" ||
		!f.Failed.Equal(start.Add(130*time.Microsecond)) {
		t.Errorf("%+v", f)
	}
}

func TestAnswersBetweenTwoMomentsAreThoseOfTheWholeSeconds(t *testing.T) {
	s := Seen{Begun: start}
	for _, answers := range []int64{1, 10, 100, 1000} {
		s.Seconds = append(s.Seconds, draw.Second{PerEngine: map[string]int64{"engine-1": answers}})
	}
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for _, c := range []struct {
		from, to float64
		want     int64
	}{{0.5, 3.5, 110}, {0.9, 1.9, 0}, {2.5, 9, 1000}, {7, 9, 0}} {
		if got := s.AnswersOf("engine-1", at(c.from), at(c.to)); got != c.want {
			t.Errorf("%v to %v: %d", c.from, c.to, got)
		}
	}
	if got := PerEngine(s.Seconds[1:3])["engine-1"]; got != 110 {
		t.Errorf("in two seconds: %d", got)
	}
	for seconds, want := range map[float64]int{-1: 0, 0.9: 0, 3.1: 3, 4: 4, 9: 4} {
		if got := s.Second(at(seconds)); got != want {
			t.Errorf("%v s: %d", seconds, got)
		}
	}
}

func TestFailuresAreCountedByCause(t *testing.T) {
	if got := Causes([]Failure{{Cause: "reset"}, {Cause: "connect"}, {Cause: "reset"}}); got != ": connect 1, reset 2" {
		t.Errorf("%q", got)
	}
	if got := Causes(nil); got != "" {
		t.Errorf("%q", got)
	}
}

func TestOnlyWhatWasOnTheLostEngineMayBeLost(t *testing.T) {
	const lost = "engine-2"
	after := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	withdrawn := after(1)
	failures := []Failure{
		{Engine: lost, Begun: after(2)},       // a kept connection of the lost engine's
		{Begun: after(0.5)},                   // a new connection that the router may have sent there
		{Engine: "engine-3", Begun: after(0)}, // a kept connection of another's
		{Begun: after(1.1)},                   // a new one that the router cannot have sent there
	}
	if others := AwayFrom(lost, failures, withdrawn); !slices.Equal(others, failures[2:]) {
		t.Errorf("got %v", others)
	}
}
