package metrics

import (
	"github.com/weir-lb/weir/controller/fleet"
	ours "github.com/weir-lb/weir/controller/histogram"
)

// serverTimes is how long a server needed, or all servers of a large pool, since the collector began.
type serverTimes struct {
	all     ours.Coarse
	timings map[string]fleet.ServerTiming // of the last collection, by engine, or by engine and server
}

// serverTimings adds what each engine has timed since the last collection, and returns that. What a data plane had
// timed before the collector first looked counts only if all of it was since this leader began. The pool needs no
// series for percentiles of its own: its histogram is the sum of those of its servers.
func (r *readings) serverTimings(timings map[string]fleet.ServerTiming) (fresh ours.Coarse) {
	t := r.group.server
	if t == nil {
		if len(timings) == 0 {
			return fresh
		}
		t = &serverTimes{}
		r.group.server = t
	}
	for id, timing := range timings {
		last, known := t.timings[id]
		then := last.Now
		switch {
		case !known && !timing.Whole:
			continue
		case !known, last.Process != timing.Process, !ours.Continues(timing.Now, then):
			then = nil
		}
		if timing.Now != then {
			fresh.Add(timing.Now, then)
			t.all.Add(timing.Now, then)
		}
	}
	t.timings = timings
	if fresh.Count() > 0 {
		r.total("weir_server_app_response_seconds_sum", t.all.Seconds())
		r.total("weir_server_timed_requests_total", float64(t.all.Count()))
		r.histogram("weir_server_app_response_seconds", native(&t.all, schemaOfServers))
	}
	return fresh
}
