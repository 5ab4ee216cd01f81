package demo

import (
	"maps"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/draw"
)

// watched is what clients saw in twenty seconds: engine-1 answers 100 requests in each, engine-2 as many from the ninth
// on, and one request fails in the tenth.
func watched(begun time.Time) *clients.Seen {
	seen := &clients.Seen{Begun: begun}
	for i := range 20 {
		second := draw.Second{PerEngine: map[string]int64{"engine-1": 100},
			PerProtocol: map[string]int64{http1: 60, http2: 40}}
		if i >= 8 {
			second.PerEngine["engine-2"] = 100
		}
		seen.Requests += sum(second.PerEngine)
		seen.Seconds = append(seen.Seconds, second)
	}
	seen.Seconds[9].Failures, seen.Failed = 1, 1
	seen.Failures = []clients.Failure{{Failed: begun.Add(9500 * time.Millisecond), Cause: "reset"}}
	return seen
}

func TestFiguresOfAllPhasesAddUpToWhatTheClientsSaw(t *testing.T) {
	begun := time.UnixMicro(1_700_000_000_000_000)
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	seen := watched(begun)
	phases := []phase{{Engines: 1, begun: at(0.3), ended: at(8.4)}, {Engines: 2, begun: at(8.4), ended: at(19.2)}}
	share(phases, seen)
	var requests, errors int64
	for _, p := range phases {
		if sum(p.PerEngine) != p.Requests || sum(p.Settled.PerEngine) != p.Settled.Requests {
			t.Errorf("%d engines: %+v", p.Engines, p)
		}
		requests, errors = requests+p.Requests, errors+p.Errors
	}
	if requests != seen.Requests || errors != seen.Failed {
		t.Errorf("%d requests and %d errors of %d and %d", requests, errors, seen.Requests, seen.Failed)
	}
	if want := map[string]int64{http1: 480, http2: 320}; !maps.Equal(phases[0].PerProtocol, want) {
		t.Errorf("by protocol: %v", phases[0].PerProtocol)
	}
	if want := map[string]int64{"engine-1": 800}; !maps.Equal(phases[0].PerEngine, want) || phases[0].Errors != 0 {
		t.Errorf("one engine: %+v", phases[0])
	}
	seen.Skew = 600 * time.Millisecond
	share(phases, seen)
	if p := phases[0]; p.Settled.Seconds != 4 || p.Settled.PerEngine["engine-1"] != 400 {
		t.Errorf("one engine, with loads that began late: %+v", p)
	}
	seen.Seconds[7].PerEngine["engine-2"] = 1 // of a load that began late, after the phase
	share(phases, seen)
	if p := phases[0]; len(p.Settled.PerEngine) != 1 {
		t.Errorf("the end of the phase has answers of after the phase: %+v", p)
	}
	seen.Seconds[7].PerEngine["engine-2"] = 0
	if p := phases[1]; p.Settled.Seconds != 4 || p.Settled.Requests != 800 || len(p.Failures) != 1 {
		t.Errorf("two engines: %+v", p)
	}
}
