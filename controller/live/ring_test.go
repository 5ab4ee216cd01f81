package live

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
)

func watchOf(uuid string) Topics { return Topics{VirtualServices: []string{uuid}} }

func TestPointsAddUpWhatAllEnginesCountedInTheStep(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	s.seconds(4, "vs-a", map[string]uint64{"se-one": 100, "se-two": 50}, nil)
	event := s.next(w, "snapshot")
	vs := event.VirtualServices[0]
	if got := ratesOf(vs.Points); got != "– 150 150 150" {
		t.Errorf("the first sample has nothing to compare with; got %s", got)
	}
	last := vs.Points[3]
	if last.Engines != 2 || last.Missing != 0 || last.Seconds != 1 || last.Open != 6 || last.SentBytes != 150_000 ||
		last.Responses != [5]float64{0, 150, 0, 0, 0} || last.Errors != 0 {
		t.Errorf("got %+v", last)
	}
	// of fleettest.Times, in ticks of 2^-20 s
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"mean": {last.Mean, 1000. / 1024 * (1 + 16 + 4)}, "wait": {last.Wait, 1000. / 1024},
		"response": {last.Response, 1000. / 1024 * 16}, "transfer": {last.Transfer, 1000. / 1024 * 4},
	} {
		if c.got == nil || math.Abs(*c.got-c.want) > 0.001 {
			t.Errorf("%s is %v ms, want %v", name, c.got, c.want)
		}
	}
	if last.P50 == nil || math.Abs(*last.P50-*last.Mean) > 0.045**last.Mean {
		t.Errorf("p50 is %v", last.P50)
	}
	if len(vs.Engines) != 2 || vs.Engines[0].Name != "one" || *vs.Engines[0].Point.Requests != 100 {
		t.Errorf("by engine: %+v", vs.Engines)
	}
}

func TestTimeInWhichNoEngineReportsIsAGap(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	only := map[string]uint64{"se-one": 100}
	counted := s.seconds(3, "vs-a", only, nil)
	for range 5 {
		s.second(nil)
	}
	counted["se-one"] += 500 // in the gap: nobody knows when
	s.seconds(3, "vs-a", only, counted)
	if got := ratesOf(s.next(w, "snapshot").VirtualServices[0].Points); got != "– 100 100 – – – – – – 100 100" {
		t.Errorf("got %s", got)
	}
}

func TestLateSampleIsSpreadOverTheTimeThatItIsAbout(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	counted := s.seconds(3, "vs-a", map[string]uint64{"se-one": 100}, nil)
	s.second(nil)
	s.seconds(2, "vs-a", map[string]uint64{"se-one": 100}, counted)
	if got := ratesOf(s.next(w, "snapshot").VirtualServices[0].Points); got != "– 100 100 – 100 100" {
		t.Errorf("got %s", got)
	}
}

func TestPointsSayHowManyEnginesAreMissing(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	both := map[string]uint64{"se-one": 100, "se-two": 50}
	counted := s.seconds(3, "vs-a", both, nil)
	s.Disconnected("se-two", "lost")
	counted = s.seconds(2, "vs-a", map[string]uint64{"se-one": 100}, counted)
	points := s.next(w, "snapshot").VirtualServices[0].Points
	if last := points[len(points)-1]; *last.Requests != 100 || last.Engines != 1 || last.Missing != 1 {
		t.Errorf("while it is away: %+v", last)
	}
	s.Deleted["se-two"] = true
	left := s.State
	left.Plans = map[string]*enginev1.Plan{"se-one": s.State.Plans["se-one"]}
	s.Observe(left)
	s.seconds(1, "vs-a", map[string]uint64{"se-one": 100}, counted)
	points = s.next(w, "delta").VirtualServices[0].Points
	if len(points) != 1 || *points[0].Requests != 100 || points[0].Missing != 0 {
		t.Errorf("after it was deleted: %+v", points)
	}
}

func TestEnginesThatDrainOrHaveJustComeCount(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	counted := s.seconds(3, "vs-a", map[string]uint64{"se-one": 100}, nil)
	seats := []place.Seat{{Engine: "se-one", State: place.Draining}, {Engine: "se-two", State: place.Serving}}
	moved := s.State
	moved.Assignments = place.Assignments(nil).With([]place.Assignment{{VirtualService: "vs-a", Seats: seats}})
	s.Observe(moved)
	both := map[string]uint64{"se-one": 30, "se-two": 70}
	counted = s.seconds(3, "vs-a", both, counted)
	moved.Assignments = place.Assignments(nil).With([]place.Assignment{{VirtualService: "vs-a", Seats: seats[1:]}})
	s.Observe(moved) // se-one has been drained, and has the virtual service no more
	for range 2 {
		s.second(func() {
			counted["se-two"] += 70
			s.sample("se-one", 7)
			s.sample("se-two", 7, row{uuid: "vs-a", requests: counted["se-two"]})
		})
	}
	points := s.next(w, "snapshot").VirtualServices[0].Points
	if got := ratesOf(points); got != "– 100 100 30 100 100 70 70" {
		t.Errorf("got %s", got) // the first sample of se-two has nothing to compare with
	}
	if last := points[len(points)-1]; last.Engines != 1 || last.Missing != 0 {
		t.Errorf("got %+v", last)
	}
}

func TestRestartOfADataPlaneIsNeitherASpikeNorAHole(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	s.seconds(3, "vs-a", map[string]uint64{"se-one": 1000}, nil)
	for i := range 8 {
		s.second(func() { s.sample("se-one", 8, row{uuid: "vs-a", requests: uint64(i+1) * 1000}) })
	}
	if got := ratesOf(s.next(w, "snapshot").VirtualServices[0].Points); got !=
		"– 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000" {
		t.Errorf("each second: %s", got)
	}
	var coarse []toldPoint
	for _, m := range s.live.ring.services["vs-a"].series.since(0, &clock{}, &s.live.ring.clocks[coarseSize]) {
		coarse = append(coarse, toldPoint{Requests: float64Of(m.shot.counts[requests], m.shot.isGap())})
	}
	if got := ratesOf(coarse); got != "– 1000 1000" {
		t.Errorf("coarse: %s", got)
	}
}

func float64Of(value float32, gap bool) *float64 {
	if gap {
		return nil
	}
	wide := float64(value)
	return &wide
}

func TestVirtualServiceThatComesBackToAnEngineCountsFromZero(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	s.seconds(3, "vs-a", map[string]uint64{"se-one": 100}, nil)
	s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a", requests: 20}) })
	if got := ratesOf(s.next(w, "snapshot").VirtualServices[0].Points); got != "– 100 100 20" {
		t.Errorf("got %s", got)
	}
}

func TestClockOfAnEngineThatIsSetBackMakesAGap(t *testing.T) {
	s := newStage(t, "vs-a")
	w := s.live.Watch(watchOf("vs-a"))
	s.seconds(2, "vs-a", map[string]uint64{"se-one": 100}, nil)
	for i := range 3 {
		s.second(func() {
			now := s.Now
			s.Now = s.Now.Add(-time.Hour)
			s.sample("se-one", 7, row{uuid: "vs-a", requests: 300 + uint64(i)*100})
			s.Now = now
		})
	}
	if got := ratesOf(s.next(w, "snapshot").VirtualServices[0].Points); got != "– 100 – 100 100" {
		t.Errorf("got %s", got)
	}
}

func TestWhatNobodyWatchesHasAPointEachFiveSeconds(t *testing.T) {
	s := newStage(t, "vs-a", "vs-b")
	counted := s.seconds(16, "vs-a", map[string]uint64{"se-one": 100}, nil)
	w := s.live.Watch(watchOf("vs-a"))
	event := s.next(w, "snapshot").VirtualServices[0]
	if got := ratesOf(event.Points); got != "– 100 100 100" || event.Points[1].Seconds != 5 || event.StepS != 1 {
		t.Errorf("got %s, %+v", got, event.Points[1])
	}
	counted = s.seconds(3, "vs-a", map[string]uint64{"se-one": 100}, counted)
	points := s.next(w, "delta").VirtualServices[0].Points
	if got := ratesOf(points); got != "100 100 100" || points[0].Seconds != 1 {
		t.Errorf("watched: %s, %+v", got, points[0])
	}
	w.Close()
	counted = s.seconds(20, "vs-a", map[string]uint64{"se-one": 100}, counted)
	if s.live.ring.services["vs-a"].series.fine == nil {
		t.Error("a client that comes back within 20 s finds no steps of a second")
	}
	s.seconds(20, "vs-a", map[string]uint64{"se-one": 100}, counted)
	if s.live.ring.services["vs-a"].series.fine != nil || len(s.live.ring.watched) != 0 {
		t.Error("nobody has watched it for 40 s, and it has steps of a second")
	}
	if s.live.ring.services["vs-b"] != nil {
		t.Error("no engine has reported b")
	}
}

func TestIdleVirtualServiceNeedsNoPointsAndIsNoGap(t *testing.T) {
	s := newStage(t, "vs-a")
	idle := func() { s.sample("se-one", 7, row{uuid: "vs-a", requests: 5}) }
	for range 11 {
		s.second(idle)
	}
	track := &s.live.ring.services["vs-a"].series.coarse
	if track.shots != nil {
		t.Error("it is idle and has points")
	}
	s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a", requests: 105}) })
	for range 4 {
		s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a", requests: 105}) })
	}
	if got := ratesOf(s.next(s.live.Watch(watchOf("vs-a")), "snapshot").VirtualServices[0].Points); got != "– 0 0 20" {
		t.Errorf("got %s", got)
	}
	for range 5 * (coarseSteps + 1) {
		s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a", requests: 105}) })
	}
	if track.shots != nil {
		t.Error("it was idle for five minutes and has points")
	}
	last := s.next(s.live.Watch(watchOf("vs-a")), "snapshot").VirtualServices[0].Points
	if got := ratesOf(last); strings.Trim(got, "0 ") != "" || len(last) < coarseSteps {
		t.Errorf("got %s", got)
	}
}

func TestRingForgetsDeletedVirtualServices(t *testing.T) {
	s := newStage(t, "vs-a", "vs-b")
	w := s.live.Watch(watchOf("vs-b"))
	s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a"}, row{uuid: "vs-b"}) })
	s.have("vs-a")
	s.second(func() { s.sample("se-one", 7, row{uuid: "vs-a"}, row{uuid: "vs-b"}) })
	if len(s.live.ring.services) != 1 {
		t.Errorf("the ring has %d virtual services", len(s.live.ring.services))
	}
	if vs := s.next(w, "snapshot").VirtualServices[0]; !vs.Gone {
		t.Errorf("got %+v", vs)
	}
}

func TestRingOfFiveThousandActiveVirtualServicesFits29MB(t *testing.T) {
	const services = 5000
	before := heap()
	r := newRing()
	now := fleettest.Clock
	for i := range services {
		r.services[fmt.Sprintf("virtualservice-%036d", i)] = &service{tenant: "admin"}
	}
	for step := range coarseSteps + 1 {
		now = now.Add(5 * time.Second)
		r.clocks[coarseSize].end(now)
		busy := (&sum{engines: 1, counts: counts{requests: float64(step + 1)}}).point()
		for _, service := range r.services {
			service.series.put(&r.clocks[coarseSize], false, busy)
		}
	}
	used := heap() - before
	t.Logf("%d active virtual services: %.1f MB", services, float64(used)/1e6)
	if used > 29e6 {
		t.Errorf("they need %.1f MB", float64(used)/1e6)
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
