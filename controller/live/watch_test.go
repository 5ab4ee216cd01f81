package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/health/score"
)

func TestWatchThatComesBackHearsWhatItMissed(t *testing.T) {
	s := newStage(t, "vs-a")
	rates := map[string]uint64{"se-one": 100}
	w := s.live.Watch(watchOf("vs-a"))
	counted := s.seconds(3, "vs-a", rates, nil)
	seen := s.next(w, "snapshot")
	if _, _, _, turned := w.take(); turned == nil {
		t.Error("nothing has happened, and there is an event")
	}
	w.Close()
	counted = s.seconds(4, "vs-a", rates, counted)
	again := s.live.Watch(Topics{VirtualServices: []string{"vs-a"}, AfterMs: seen.AtMs})
	if got := ratesOf(s.next(again, "delta").VirtualServices[0].Points); got != "100 100 100 100" {
		t.Errorf("got %s", got)
	}
	for _, id := range []int64{1, s.Now.Add(time.Hour).UnixMilli()} {
		other := s.live.Watch(Topics{VirtualServices: []string{"vs-a"}, AfterMs: id})
		if got := ratesOf(s.next(other, "snapshot").VirtualServices[0].Points); got != "– 100 100 100 100 100 100" {
			t.Errorf("after %d: %s", id, got)
		}
	}
	s.seconds(6, "vs-a", rates, counted)
	if got := ratesOf(s.next(again, "delta").VirtualServices[0].Points); got != "100 100 100 100 100 100" {
		t.Errorf("a slow reader gets %s", got)
	}
}

func TestTooManyTopicsHaveCoarseSteps(t *testing.T) {
	s := newStage(t, "vs-a")
	var others []string
	for i := range watchedMost {
		others = append(others, fmt.Sprintf("vs-other-%d", i))
	}
	all := s.live.Watch(Topics{VirtualServices: others})
	w := s.live.Watch(watchOf("vs-a"))
	s.seconds(11, "vs-a", map[string]uint64{"se-one": 100}, nil)
	vs := s.next(w, "snapshot").VirtualServices[0]
	if got := ratesOf(vs.Points); got != "– 100 100" || vs.StepS != 5 {
		t.Errorf("steps of %d s: %s", vs.StepS, got)
	}
	all.Close()
	w.Close()
	w = s.live.Watch(watchOf("vs-a"))
	if s.next(w, "snapshot").VirtualServices[0].StepS != 1 || len(s.live.ring.watched) != watchedMost {
		t.Errorf("topics that nobody watches any more keep others out: %d", len(s.live.ring.watched))
	}
}

func TestOverviewAddsUpATenantAndOrdersByNeed(t *testing.T) {
	s := newStage(t, "vs-fine", "vs-busy", "vs-failing", "vs-slow", "vs-lost", "vs-theirs@blue")
	all, blue := s.live.Watch(Topics{Overview: true}), s.live.Watch(Topics{Overview: true, Tenant: "blue"})
	slow := func(requests uint64) *dataplanev1.Times {
		times := fleettest.Times(uint32(requests))
		times.Total.First = 160 // 2^20 ticks: a second
		return times
	}
	for i := range uint64(8) {
		s.second(func() {
			s.sample("se-one", 7, row{uuid: "vs-fine", requests: 10 * i}, row{uuid: "vs-busy", requests: 1000 * i},
				row{uuid: "vs-failing", requests: 10 * i, failures: i}, row{uuid: "vs-theirs", requests: 7 * i},
				row{uuid: "vs-slow", requests: 10 * i, times: slow(10 * i)})
			s.sample("se-two", 7, row{uuid: "vs-fine", requests: i})
		})
	}
	lost := s.State
	lost.Plans = map[string]*enginev1.Plan{}
	for _, engine := range []string{"se-one", "se-two"} {
		lost.Plans[engine] = fleettest.PlanOf(11, "vs-fine", "vs-busy", "vs-failing", "vs-slow", "vs-theirs")
	}
	s.Observe(lost)
	s.Serve("se-one", "se-two")
	s.second(func() {
		s.sample("se-one", 7, row{uuid: "vs-fine", requests: 80}, row{uuid: "vs-busy", requests: 8000},
			row{uuid: "vs-failing", requests: 80, failures: 8}, row{uuid: "vs-theirs", requests: 56},
			row{uuid: "vs-slow", requests: 80, times: slow(80)})
		s.sample("se-two", 7, row{uuid: "vs-fine", requests: 8})
	})
	event := s.next(all, "snapshot").Overview
	var order string
	for _, vs := range event.VirtualServices {
		order += fmt.Sprintf("%s %q ", vs.Name, vs.Attention)
	}
	if want := `lost "down" failing "errors" slow "slow" busy "" fine "" theirs "" `; order != want {
		t.Errorf("got %s, want %s", order, want)
	}
	last := event.Points[len(event.Points)-1]
	if *last.Requests != 10+1000+10+7+10+1 || last.Errors != 1 || last.Engines != 2 || last.P50 == nil {
		t.Errorf("the sum is %+v", last)
	}
	if event.Total != 6 || event.EnginesTotal != 2 || event.EnginesUp != 2 {
		t.Errorf("got %+v", event)
	}
	if busy := event.VirtualServices[3]; busy.Point == nil || *busy.Point.Requests != 1000 || len(busy.Recent) != 2 ||
		*busy.Recent[1] != 1000 {
		t.Errorf("got %+v", busy)
	}
	theirs := s.next(blue, "snapshot").Overview
	if len(theirs.VirtualServices) != 1 || *theirs.Points[len(theirs.Points)-1].Requests != 7 || theirs.Total != 1 {
		t.Errorf("the tenant blue sees %+v", theirs)
	}
}

func TestEnginesShowTheirLoad(t *testing.T) {
	s := newStage(t, "vs-a")
	w, withoutLoads := s.live.Watch(Topics{Engines: true, EngineLoads: true}), s.live.Watch(Topics{Engines: true})
	s.seconds(3, "vs-a", map[string]uint64{"se-one": 100}, nil)
	s.Disconnected("se-two", "its host is gone")
	engines := s.next(w, "snapshot").Engines
	if len(engines) != 2 || engines[0].State != "OPER_UP" || engines[1].State != "OPER_DOWN" {
		t.Fatalf("got %+v", engines)
	}
	for _, engine := range s.next(withoutLoads, "snapshot").Engines {
		if len(engine.Points) > 0 || engine.Name == "" || engine.State == "" {
			t.Errorf("without loads: %+v", engine)
		}
	}
	last := engines[0].Points[2]
	// 100 ms of each second, of two workers
	if last["cpu_percent"] != 5. || last["rss_bytes"] != float64(1<<20) || last["requests_per_s"] != 100. {
		t.Errorf("got %v", last)
	}
}

func TestServersOfAPoolShowWhatTheyDoNow(t *testing.T) {
	s := &stage{Stage: fleettest.New(t)}
	s.live = New(s.Fleet, s.score, noneSlow, func() time.Time { return s.Now })
	s.live.pace.begin(s.Now)
	s.Serve("se-one")
	w := s.live.Watch(Topics{Pools: []string{"pool-1"}})
	for i := range uint64(3) {
		s.second(func() {
			s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
				Pid: 7, UnixMs: uint64(s.Now.UnixMilli()), Workers: 2,
				Servers: []*dataplanev1.ServerCounters{
					{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", RequestsTotal: 100 * i, ConnectionsTotal: i},
					{PoolUuid: "pool-1", ServerId: "10.0.0.2:80", FailuresTotal: 2 * i},
				},
			}}})
		})
	}
	s.Judge("se-one", "10.0.0.1:80", false, "refused")
	pool := s.next(w, "snapshot").Pools[0]
	if pool.Name != "web-pool" || pool.ServersTotal != 2 || len(pool.Servers) != 2 {
		t.Fatalf("got %+v", pool)
	}
	if down := pool.Servers[0]; down.ID != "10.0.0.1:80" || down.State != "OPER_DOWN" || *down.Requests != 100 {
		t.Errorf("got %+v", down)
	}
	if failing := pool.Servers[1]; *failing.Failures != 2 {
		t.Errorf("got %+v", failing)
	}
}

func TestStepEndsWhenAllEnginesHaveReportedAndWaitsForNoneForLong(t *testing.T) {
	s := newStage(t, "vs-a")
	ends := func(after time.Duration) bool {
		before := s.live.ring.clocks[fineSize].step
		s.Now = s.Now.Add(after)
		s.live.tick()
		return s.live.ring.clocks[fineSize].step > before
	}
	s.second(func() { s.sample("se-one", 7); s.sample("se-two", 7) })
	s.Now = s.Now.Add(900 * time.Millisecond)
	s.sample("se-one", 7)
	if ends(0) {
		t.Error("the step did not wait for se-two")
	}
	s.sample("se-two", 7)
	if !ends(50 * time.Millisecond) {
		t.Error("all have reported")
	}
	s.sample("se-one", 7)
	s.sample("se-two", 7)
	if ends(stepLeast - time.Millisecond) {
		t.Error("the step was too short")
	}
	if !ends(time.Millisecond) {
		t.Error("the step was long enough")
	}
	s.sample("se-one", 7)
	if ends(stepMost-time.Millisecond) || !ends(time.Millisecond) {
		t.Error("the step should end without se-two")
	}
	s.Now = s.Now.Add(900 * time.Millisecond)
	s.sample("se-one", 7)
	if !ends(0) {
		t.Error("the step waited for an engine that was late in the step before")
	}
	s.Now = s.Now.Add(-time.Hour)
	if !ends(0) {
		t.Error("the clock was set back, and the step did not end")
	}
}

// TestReadersDelayNobody has readers that do not read, and readers that come and go, while engines report.
func TestReadersDelayNobody(t *testing.T) {
	f := fleettest.New(t)
	f.Serve("se-one")
	l := New(f.Fleet, noScores, noneSlow, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running, readers sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) })
	running.Go(func() {
		for pid := uint32(1); ctx.Err() == nil; pid++ {
			f.Timed("se-one", pid/50, time.Duration(pid)*time.Second, fleettest.Times(pid%50))
			time.Sleep(5 * time.Millisecond)
		}
	})
	topics := Topics{Overview: true, Engines: true, EngineLoads: true, VirtualServices: []string{"vs-1"},
		Pools: []string{"pool-1"}}
	idle := l.Watch(topics)
	defer idle.Close()
	for range 20 {
		readers.Go(func() {
			for range 3 {
				w := l.Watch(topics)
				last := ""
				for range 2 {
					_, id, _, err := w.Next(ctx)
					if err != nil {
						t.Error(err)
					}
					if before, _ := strconv.Atoi(last); last != "" {
						if now, _ := strconv.Atoi(id); now-before > 3000 {
							t.Errorf("the next event is %d ms after %s", now-before, last)
						}
					}
					last = id
				}
				w.Close()
			}
		})
	}
	readers.Wait()
	cancel()
	running.Wait()
	if _, _, _, err := l.Watch(topics).Next(ctx); err != nil {
		t.Errorf("there were steps, and a new watch says %v", err)
	}
	w := l.Watch(topics)
	_, _, _, _ = w.Next(ctx)
	if _, _, _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestOverviewAndDetailHaveTheHealthScore(t *testing.T) {
	s := newStage(t, "vs-a", "vs-b")
	s.scores = map[string]score.Score{
		"vs-a": {Band: score.Fair, Value: 71, Reasons: []score.Reason{{Text: "12 % of requests slower than 2 s"}}},
		"vs-b": {Band: score.Grey, Why: "enabled is false"},
	}
	w := s.live.Watch(Topics{Overview: true, VirtualServices: []string{"vs-a"}})
	s.seconds(2, "vs-a", map[string]uint64{"se-one": 100}, nil)
	_, _, data, _ := w.take()
	for _, want := range []string{
		`"name":"a","state":"OPER_UP","health_score":71,"health_band":"fair",` +
			`"health_reason":"12 % of requests slower than 2 s"`,
		`"name":"b","state":"OPER_UP","health_score":null,"health_band":"none","health_reason":"enabled is false"`,
		`"virtual_services":[{"uuid":"vs-a","name":"a","state":"OPER_UP","health_score":71`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing in %s", want, data)
		}
	}
}
