package live

import (
	"encoding/json"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

// answering returns what a server has counted after i seconds with n answers each, which began after a number of ticks
// that is a power of two.
func answering(id string, i, n uint64, log2Ticks uint32) *dataplanev1.ServerCounters {
	return &dataplanev1.ServerCounters{PoolUuid: "pool-1", ServerId: id, RequestsTotal: n * i,
		AppResponse: &dataplanev1.Histogram{SumTicks: n * i << log2Ticks, First: 2 * log2Ticks,
			Counts: []uint32{uint32(n * i)}}}
}

type toldLine struct {
	Attention string
	Slow      []slowJSON `json:"slow_servers"`
}

// overviewAfter returns the line of the virtual service after some seconds in which each server gave 20 answers a
// second, or every share-th as many.
func overviewAfter(t *testing.T, seconds int, slowTicks uint32, share uint64) (line toldLine) {
	t.Helper()
	s := &stage{Stage: fleettest.New(t)}
	s.live = New(s.Fleet, noScores, func() time.Time { return s.Now })
	s.live.pace.begin(s.Now)
	s.Serve("se-one", "se-two")
	for _, server := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
		s.Judge("se-one", server, true, "")
		s.Judge("se-two", server, true, "")
	}
	w := s.live.Watch(Topics{Overview: true})
	for i := range uint64(seconds) {
		s.second(func() {
			s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
				Pid: 7, UnixMs: uint64(s.Now.UnixMilli()), Workers: 2,
				VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", RequestsTotal: 40 * i}},
				Servers: []*dataplanev1.ServerCounters{answering("10.0.0.1:80", i, 20, 10),
					answering("10.0.0.2:80", i, 20/share, slowTicks)},
			}}})
			s.sample("se-two", 7, row{uuid: "vs-1"})
		})
		_, _, data, _ := w.take()
		var event struct {
			Overview struct {
				VirtualServices []toldLine `json:"virtual_services"`
			}
		}
		if err := json.Unmarshal(data, &event); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		line = event.Overview.VirtualServices[0]
	}
	return line
}

func TestOverviewNamesTheServerThatIsSlow(t *testing.T) {
	line := overviewAfter(t, 12, 18, 4) // a quarter of a second
	if len(line.Slow) != 1 {
		t.Fatalf("got %+v", line)
	}
	if slow := line.Slow[0]; slow.ID != "10.0.0.2:80" || slow.Pool != "pool-1" || slow.Share != 0.2 ||
		slow.MeanMs != 250 || slow.OtherMs < 0.97 || slow.OtherMs > 0.98 {
		t.Errorf("got %+v", slow)
	}
	if line.Attention != "slow" {
		t.Errorf("its attention is %q", line.Attention)
	}
}

func TestOverviewNamesNoServerIfAllAreAlike(t *testing.T) {
	if line := overviewAfter(t, 12, 11, 1); len(line.Slow) != 0 || line.Attention != "" {
		t.Errorf("got %+v", line)
	}
}
