package live

import (
	"fmt"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// BenchmarkStepOfFiveThousandActiveVirtualServices is a step of 5,000 virtual services, each on two engines and with
// requests of 40 durations, while somebody watches the overview. The samples are made outside of the time.
func BenchmarkStepOfFiveThousandActiveVirtualServices(b *testing.B) {
	var t testing.T // the stage wants one for its failures
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("vs-%04d", i))
	}
	s := newStage(&t, names...)
	w := s.live.Watch(Topics{Overview: true})
	count := uint64(0)
	for b.Loop() {
		b.StopTimer()
		count++
		s.Now = s.Now.Add(time.Second)
		for _, engine := range []string{"se-one", "se-two"} {
			s.Reported(engine, sampleOfAll(names, s.Now, count))
		}
		b.StartTimer()
		s.live.tick()
		b.StopTimer()
		if count%10 == 0 {
			_, _, _, _ = w.take()
		}
		b.StartTimer()
	}
}

func sampleOfAll(names []string, now time.Time, count uint64) *enginev1.Report {
	sample := &dataplanev1.Sample{Pid: 7, Workers: 2, UnixMs: uint64(now.UnixMilli())}
	all := func() *dataplanev1.Histogram {
		spread := make([]uint32, 40)
		for i := range spread {
			spread[i] = uint32(count)
		}
		return &dataplanev1.Histogram{SumTicks: 40_000 * count, First: 60, Counts: spread}
	}
	for _, name := range names {
		sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
			Uuid: name, RequestsTotal: 40 * count, ConnectionsTotal: count,
			ResponsesTotal: []uint64{0, 40 * count, 0, 0, 0},
			Times:          &dataplanev1.Times{Total: all(), Wait: all(), Response: all(), Transfer: all()},
		})
	}
	return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}}
}
