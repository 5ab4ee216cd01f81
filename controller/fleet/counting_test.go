package fleet_test

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

// counted has an engine tell that it has counted requests of virtual services, and of the first server of pool-1.
func counted(s *fleettest.Stage, engine string, requests map[string]uint64, ofServer uint64) {
	sample := &dataplanev1.Sample{Pid: 7}
	for _, uuid := range []string{"vs-0", "vs-1"} {
		if count, has := requests[uuid]; has {
			sample.VirtualServices = append(sample.VirtualServices,
				&dataplanev1.VirtualServiceCounters{Uuid: uuid, RequestsTotal: count})
		}
	}
	if ofServer > 0 {
		sample.Servers = []*dataplanev1.ServerCounters{{PoolUuid: "pool-1", ServerId: "10.0.0.1:80",
			RequestsTotal: ofServer}}
	}
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
}

func TestAddsUpTheEnginesThatHaveAnObjectNow(t *testing.T) {
	s := fleettest.New(t)
	s.Serve("se-one", "se-two")
	key := fleet.ServerKey{Pool: "pool-1", Server: "10.0.0.1:80"}
	want := func(when string, engines int, ofService, ofServer int64) {
		t.Helper()
		s.Read(func(known *fleet.Known) {
			if got := len(known.TimingsOf("vs-1")); got != 0 {
				t.Errorf("%s: %d engines have times", when, got)
			}
			if got := known.CountedOfService("vs-1")["requests"]; got != ofService {
				t.Errorf("%s: %d requests, want %d", when, got, ofService)
			}
			if got := known.CountedOfServer(key)["requests"]; got != ofServer {
				t.Errorf("%s: %d requests to the server, want %d", when, got, ofServer)
			}
			if got := known.Counting("vs-1", "pool-1"); got != engines {
				t.Errorf("%s: %d rows, want %d", when, got, engines)
			}
		})
	}
	counted(s, "se-one", map[string]uint64{"vs-1": 3}, 2)
	want("one engine", 2, 3, 2)
	counted(s, "se-two", map[string]uint64{"vs-0": 1, "vs-1": 4}, 4)
	want("two engines", 4, 7, 6)
	counted(s, "se-two", map[string]uint64{"vs-1": 5}, 5) // its row is another one now
	want("a row before it is gone", 4, 8, 7)
	counted(s, "se-one", map[string]uint64{"vs-0": 1}, 0)
	want("one engine has it no more", 2, 8, 7)
	s.Deleted["se-two"] = true
	delete(s.State.Plans, "se-two")
	s.Observe(s.State)
	want("the other engine is deleted", 0, 8, 7)
}
