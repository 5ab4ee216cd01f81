package runtime

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestTimesAreInMillisecondsAndAbsentWithoutARequestInTheLastMinute(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	isAbsent := func(when string) {
		t.Helper()
		if times, exist := s.VirtualService("vs-1")["times"]; exist {
			t.Errorf("%s: %v", when, times)
		}
	}
	isAbsent("no sample has come")
	s.Timed("se-one", 7, 0, nil)
	isAbsent("no request has ended")
	s.Timed("se-one", 7, 1500*time.Millisecond, fleettest.Times(3))
	s.Timed("se-two", 8, 0, fleettest.Times(100)) // before the controller began
	s.Timed("se-two", 8, time.Second, fleettest.Times(101))
	s.Contains(s.VirtualService("vs-1")["times"], "requests:4", "seconds:1.5",
		"total_ms:map[mean:20.508 p50:21.16 p95:21.16 p99:21.16]",
		"wait_ms:map[mean:0.977 p50:0.935 p95:0.935 p99:0.935]",
		"response_ms:map[mean:15.625 p50:14.963 p95:14.963 p99:14.963]",
		"transfer_ms:map[mean:3.906 p50:3.741 p95:3.741 p99:3.741]",
		"server_rtt_ms:map[mean:3.906 p50:3.741 p95:3.741 p99:3.741]",
		"app_response_ms:map[mean:11.719 p50:11.538 p95:11.538 p99:11.538]")
	for _, engine := range []string{"se-one", "se-two"} {
		s.Timed(engine, 7, time.Hour, fleettest.Times(101))
	}
	isAbsent("all was long ago")
}
