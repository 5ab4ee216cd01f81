package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/topology"
)

// narrow lets the virtual service be on one engine, which it then is, or on more.
func (f *fabric) narrow() {
	f.Helper()
	f.change("serviceenginegroup", "Default-Group", func(group client.Object) { group["min_scaleout_per_vs"] = 1 })
	f.untilOn(1)
}

// order asks for something, and waits until it is done.
func (f *fabric) order(verb string, engines int) {
	f.Helper()
	f.post(verb, client.Object{})
	f.untilOn(engines)
}

// untilOn waits until this number of engines serves the virtual service, and no change is in progress.
func (f *fabric) untilOn(engines int) {
	f.Helper()
	f.eventually(fmt.Sprintf("it is on %d engines", engines), func() error {
		list := f.seats()
		for _, engine := range list {
			if engine["state"] != "serving" {
				return fmt.Errorf("%v is %v", engine["name"], engine["state"])
			}
		}
		if len(list) != engines {
			return fmt.Errorf("it is on %d", len(list))
		}
		return nil
	})
}

// seats are the engines of the virtual service as the API lists them.
func (f *fabric) seats() (seats []map[string]any) {
	f.Helper()
	list, _ := f.runtime("virtualservice", "web")["service_engine"].([]any)
	for _, each := range list {
		seat, _ := each.(map[string]any)
		seats = append(seats, seat)
	}
	return seats
}

func (f *fabric) happened(id string) bool {
	f.Helper()
	var logs struct {
		Results []map[string]any `json:"results"`
	}
	f.must(f.controller.Session.Get(f.ctx, "analytics/logs?type=2&event_id="+id, &logs))
	return len(logs.Results) > 0
}

func TestVirtualServiceScalesFromOneEngineToThreeAndBackUnderLoad(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 3, behind)
		f.narrow()
		f.losesNothing(func() {
			f.order("scaleout", 2)
			f.order("scaleout", 3)
			f.untilHops(f.engineNames(3)...)
			for _, engine := range f.engineNames(3) {
				if counts := f.spread(clearURL, 300); counts[engine] < 60 {
					t.Errorf("%s: %v", engine, counts)
				}
			}
			f.order("scalein", 2)
			f.order("scalein", 1)
			f.spread(clearURL, 100)
		})
		for _, id := range []string{"VS_SCALEOUT_COMPLETE", "VS_SCALEIN_COMPLETE", "VS_ADD_SE", "VS_REMOVED_SE"} {
			if !f.happened(id) {
				t.Errorf("no event tells of %s", id)
			}
		}
	})
}

func TestVirtualServiceMovesToAnotherEngineWhenItsOwnIsCutOffFromTheRouter(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 3, behind)
		f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
			group["bgp_peer_monitor_failover_enabled"] = true
		})
		f.narrow()
		f.untilWatched(3)
		was := fmt.Sprint(f.seats()[0]["name"])
		f.must(f.router.Cut(was))
		f.eventually("another engine serves", func() error {
			if seats := f.seats(); len(seats) != 1 || seats[0]["name"] == was || seats[0]["advertised"] != true {
				return errors.New(fmt.Sprint(seats))
			}
			return nil
		})
		now := fmt.Sprint(f.seats()[0]["name"])
		f.untilHops(now)
		if counts := f.spread(clearURL, 50); counts[now] != 50 {
			t.Errorf("after the move: %v", counts)
		}
		f.must(f.router.Connect(was))
		f.untilWatched(3)
		f.untilHops(now)
		if seats := f.seats(); len(seats) != 1 || seats[0]["name"] != now {
			t.Errorf("it moved again when %s came back: %v", was, seats)
		}
		for _, id := range []string{"SE_BGP_PEER_STATE_CHANGE", "VS_REMOVED_SE"} {
			if !f.happened(id) {
				t.Errorf("no event tells of %s", id)
			}
		}
	})
}

// If the router restarts, no engine is at fault, and nothing moves.
func TestNothingMovesWhenAllEnginesAreCutOffFromTheRouter(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 2, behind)
		f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
			group["bgp_peer_monitor_failover_enabled"], group["aggressive_failure_detection"] = true, true
		})
		f.narrow()
		f.untilWatched(2)
		was := fmt.Sprint(f.seats()[0]["name"])
		for _, engine := range f.engineNames(2) {
			f.must(f.router.Cut(engine))
		}
		f.eventually("nobody serves", func() error {
			runtime := f.runtime("virtualservice", "web")
			if status := fmt.Sprint(runtime["oper_status"]); !strings.Contains(status, "OPER_DOWN") {
				return errors.New(status)
			}
			seats := fmt.Sprint(runtime["service_engine"])
			if !strings.Contains(seats, "OPER_DOWN") || !strings.Contains(seats, "no BGP session with") {
				return errors.New(seats)
			}
			return nil
		})
		for _, engine := range slices.Backward(f.engineNames(2)) {
			f.must(f.router.Connect(engine))
		}
		f.untilWatched(2)
		f.untilHops(was)
		f.spread(clearURL, 50)
		if seats := f.seats(); len(seats) != 1 || seats[0]["name"] != was {
			t.Errorf("%s served, and now %v", was, seats)
		}
	})
}
