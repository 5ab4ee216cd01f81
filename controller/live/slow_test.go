package live

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/slowness"
)

func TestOverviewNamesTheServersThatAreSlow(t *testing.T) {
	s := &stage{Stage: fleettest.New(t), sampled: map[string]time.Time{}}
	var slow []slowness.Server
	s.live = New(s.Fleet, noScores, func(string) []slowness.Server { return slow }, func() time.Time { return s.Now })
	s.live.pace.begin(s.Now)
	s.Serve("se-one", "se-two")
	for _, server := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
		s.Judge("se-one", server, true, "")
		s.Judge("se-two", server, true, "")
	}
	w := s.live.Watch(Topics{Overview: true})
	after := func(seconds int, requests uint64) (line struct {
		Attention string
		Slow      []slowJSON `json:"slow_servers"`
	}) {
		t.Helper()
		var data []byte
		for range seconds {
			s.second(func() {
				at := uint64(s.Now.Sub(fleettest.Clock) / time.Second)
				s.sample("se-one", 7, row{uuid: "vs-1", requests: requests * at})
				s.sample("se-two", 7, row{uuid: "vs-1"})
			})
			_, _, data, _ = w.take()
		}
		var event struct {
			Overview struct {
				VirtualServices []json.RawMessage `json:"virtual_services"`
			}
		}
		if err := json.Unmarshal(data, &event); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if err := json.Unmarshal(event.Overview.VirtualServices[0], &line); err != nil {
			t.Fatal(err)
		}
		return line
	}
	if line := after(3, 40); line.Attention != "" || len(line.Slow) != 0 {
		t.Errorf("got %+v", line)
	}
	slow = []slowness.Server{{ID: "10.0.0.2:80", Mean: 250 * time.Millisecond, Others: time.Millisecond, Share: 0.2,
		Since: s.Now}}
	line := after(1, 40)
	want := slowJSON{ID: "10.0.0.2:80", Pool: "pool-1", Share: 0.2, MeanMs: 250, OtherMs: 1,
		SinceMs: slow[0].Since.UnixMilli()}
	if line.Attention != "slow" || len(line.Slow) != 1 || line.Slow[0] != want {
		t.Errorf("got %+v", line)
	}
}
