package metrics

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

func TestCountsWhatEnginesCountedSinceTheyWereHeardOf(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(1_000_000)) // before this controller
	s.pass(4, func(n int) {
		s.report("se-one", 7, requested(1_000_000+uint64(150*(n+1))))
		s.report("se-two", 8, requested(uint64(30*(n+5))))
	})
	s.wantQuery(`increase(weir_service_requests_total{service="web"}[1m] anchored)`, 600+240)
	s.wantQuery(`rate(weir_service_requests_total[15s] anchored)`, (150+30)/15.0)
	s.wantQuery(`increase(weir_service_responses_total{class="2xx"}[1m] anchored)`, 840)
	if _, there := s.query(`weir_service_responses_total{class="5xx"}`, ""); there {
		t.Error("a counter that never moved has a series")
	}
	s.wantQuery(`increase(weir_engine_requests_total{engine="one"}[1m] anchored)`, 600)
}

func TestTotalsGoOnWhenADataPlaneEnds(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(8, func(n int) {
		if n < 4 {
			s.report("se-one", 7, requested(uint64(100*(n+1))))
		} else {
			s.report("se-one", 9, requested(uint64(100*(n-3))))
		}
	})
	s.wantQuery(`increase(weir_service_requests_total[2m] anchored)`, 800)
	s.wantQuery(`max_over_time(rate(weir_service_requests_total[15s] anchored)[2m:15s])`, 100/15.0)
}

func TestARestartLeavesAGapAndNoPeak(t *testing.T) {
	s := newStage(t)
	total := uint64(5_000_000)
	count := func(int) { total += 1500; s.report("se-one", 7, requested(total)) }
	count(0)
	s.pass(8, count)
	s.wantQuery(`increase(weir_service_requests_total[2m] anchored)`, 8*1500)
	s.Now = s.Now.Add(4 * time.Second)
	s.restart()
	s.Now = s.Now.Add(2 * time.Second)
	count(0) // the data plane went on
	s.pass(8, count)
	s.wantQuery(`increase(weir_service_requests_total[2m] anchored)`, 8*1500)
	s.wantQuery(`increase(weir_service_requests_total[4m] anchored)`, 16*1500)
	s.wantQuery(`max_over_time(rate(weir_service_requests_total[15s] anchored)[4m:15s])`, 100)
}

func TestHistoryOutlivesItsProcessAlsoInCoarseTiers(t *testing.T) {
	s := newStage(t)
	total := uint64(0)
	count := func(int) { total += 15; s.report("se-one", 7, requested(total)) }
	count(0)
	s.pass(3*3600/15, count)
	s.restart()
	for tier, want := range []float64{3*3600/5 - 2, 3 * 12, 3} { // the first count came with the third collection
		text := `count_over_time(weir_service_requests_total[4h])`
		seen := view{s.tiers, series.Sight{}, s.Now}
		only := &tiers{dir: s.dir}
		for i := range only.of {
			only.of[i] = s.tiers.of[tier]
		}
		seen.tiers = only
		result, err := s.history.run(t.Context(), seen, series.Query{Text: text, Start: s.Now, Stop: s.Now})
		if err != nil {
			t.Fatal(err)
		}
		// One more each: the count that the series began with.
		if got := result.value.String(); !strings.Contains(got, " "+number(want+1)+" @") {
			t.Errorf("tier %s: %s, want %v samples", retention.Tiers[tier].Name, got, want+1)
		}
		result.Close()
	}
	for step, want := range map[time.Duration]float64{15 * time.Second: 1, 5 * time.Minute: 1, time.Hour: 1} {
		for _, value := range s.points("l7_client.avg_total_requests", step, 2) {
			if value == nil || *value < want*0.999 || *value > want*1.001 {
				t.Errorf("step %v: %v, want %v", step, value, want)
			}
		}
	}
}

func TestSeriesOfAnIdleServiceEndAndBeginAgain(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(4, func(n int) { s.report("se-one", 7, requested(uint64(100*(n+1)))) })
	s.pass(int(idleAfter/turn)+1, nil)
	if _, there := s.query(`weir_service_requests_total`, ""); there {
		t.Error("the series goes on")
	}
	if text := s.exposed(""); strings.Contains(text, "weir_service_") {
		t.Errorf("a scrape still has it: %s", text)
	}
	s.report("se-one", 7, requested(460))
	s.pass(1, nil)
	s.wantQuery(`increase(weir_service_requests_total[20s])`, 80)
	s.wantQuery(`increase(weir_service_requests_total[1h] anchored)`, 460)
}

func TestNativeHistogramHasTheQuantilesOfOurs(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, &dataplanev1.VirtualServiceCounters{RequestsTotal: 1})
	s.pass(40, func(n int) {
		s.report("se-one", 7, &dataplanev1.VirtualServiceCounters{
			RequestsTotal: uint64(100 * n), Times: fleettest.Times(uint32(100 * n)),
		})
	})
	// All requests took 2^14.39 ticks of 2^-20 s; the bucket ends at 2^14.5.
	want := 1000 * float64(1<<10+1<<14+1<<12) / (1 << 20)
	for _, metric := range []string{"weir.p50_total_time", "weir.p99_total_time", "l7_client.avg_client_txn_latency"} {
		for _, value := range s.points(metric, time.Minute, 3) {
			if value == nil || *value < want/1.09 || *value > want*1.09 {
				t.Errorf("%s is %v, want %v", metric, value, want)
			}
		}
	}
	if mean := s.points("l7_client.avg_blocking_time", time.Minute, 1)[0]; mean == nil ||
		*mean < 0.976 || *mean > 0.977 {
		t.Errorf("the mean wait is %v, want 2^10 ticks", mean)
	}
	s.wantQuery(`histogram_count(increase(weir_service_total_seconds[5m]))`, 2000)
}

func TestErrorsAreWithoutThoseThatTheProfileExcludes(t *testing.T) {
	s := newStage(t)
	of := func(n uint64) *dataplanev1.VirtualServiceCounters {
		counters := requested(600 * n)
		counters.ResponsesTotal = []uint64{0, 480 * n, 0, 60 * n, 60 * n}
		counters.ExcludedResponsesTotal = []uint64{0, 0, 0, 15 * n, 45 * n}
		return counters
	}
	server := func(n uint64) *dataplanev1.ServerCounters {
		return &dataplanev1.ServerCounters{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", RequestsTotal: 60 * n,
			ResponsesTotal: []uint64{0, 0, 0, 0, 60 * n}, ExcludedResponsesTotal: []uint64{0, 0, 0, 0, 45 * n}}
	}
	s.report("se-one", 7, of(0), server(0))
	s.pass(8, func(n int) { s.report("se-one", 7, of(uint64(n+1)), server(uint64(n+1))) })
	for metric, want := range map[string]float64{"l7_client.avg_resp_5xx": 4, "l7_client.avg_error_responses": 4,
		"l7_client.pct_response_errors": 10} {
		if got := s.points(metric, time.Minute, 1)[0]; got == nil || math.Abs(*got-want) > 0.001 {
			t.Errorf("%s is %v, want %v", metric, *got, want)
		}
	}
	for metric, want := range map[string]float64{"l7_server.avg_error_responses": 1,
		"l7_server.pct_response_errors": 25} {
		if got := *s.ofPool(metric); math.Abs(got-want) > 0.05*want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

func TestWhatIsNotKnownIsNullAndWhatDidNotHappenIsZero(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(8, func(n int) { s.report("se-one", 7, requested(uint64(150*(n+1)))) })
	for metric, want := range map[string]float64{"l7_client.avg_total_requests": 10, "l7_client.avg_resp_5xx": 0,
		"l7_client.sum_total_responses": 600, "l7_client.pct_response_errors": 0, "l4_client.avg_bandwidth": 0} {
		if got := s.points(metric, time.Minute, 1)[0]; got == nil || *got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	for _, metric := range []string{"healthscore.health_score_value", "l7_client.avg_page_load_time",
		"weir.p99_total_time"} {
		if got := s.points(metric, time.Minute, 1)[0]; got != nil {
			t.Errorf("%s is %v, and nothing is known of it", metric, *got)
		}
	}
	if got := s.points("l7_client.avg_resp_5xx", time.Hour, 2)[0]; got != nil {
		t.Errorf("before the controller ran: %v", *got)
	}
	_, err := s.history.Ask(t.Context(), []series.Question{{Metric: "l7_client.avg_nonsense", Step: time.Minute}})
	var unknown *series.UnknownMetric
	if !errors.As(err, &unknown) || unknown.ID != "l7_client.avg_nonsense" {
		t.Errorf("got %v", err)
	}
}

func TestATenantSeesItsOwnSeriesOnly(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(2, func(n int) { s.report("se-one", 7, requested(uint64(150*(n+1)))) })
	for _, text := range []string{`weir_service_requests_total`, `sum({__name__=~".+"})`,
		`sum({__name__=~"weir_service.*", tenant_uuid="tenant-blue"})`,
		`max(max_over_time({__name__=~"weir_service_req.+"}[5m]))`} {
		if _, there := s.query(text, "tenant-blue"); !there {
			t.Errorf("%s: its own tenant does not see it", text)
		}
		if got, there := s.query(text, "tenant-red"); there {
			t.Errorf("%s: another tenant sees %v", text, got)
		}
	}
	selection := series.Selection{Sight: series.Sight{Tenant: "tenant-red"}, Start: s.Now.Add(-time.Hour), Stop: s.Now,
		Matches: []string{`{__name__=~".+"}`}}
	for name, list := range map[string]func() (series.Found, error){
		"labels": func() (series.Found, error) { return s.history.LabelNames(t.Context(), selection) },
		"values": func() (series.Found, error) { return s.history.LabelValues(t.Context(), "service", selection) },
		"series": func() (series.Found, error) { return s.history.Series(t.Context(), selection) },
	} {
		if found, err := list(); err != nil || string(found.Data) != "[]" {
			t.Errorf("%s of another tenant: %s, %v", name, found.Data, err)
		}
	}
	if text := s.exposed("tenant-red"); text != "" {
		t.Errorf("another tenant scrapes %s", text)
	}
	if text := s.exposed("tenant-blue"); !strings.Contains(text,
		`weir_service_requests_total{service="web",tenant="name of tenant-blue",tenant_uuid="tenant-blue",uuid="vs-1"} 300`) {
		t.Errorf("its own tenant scrapes %s", text)
	}
}

func TestAQuestionSeesSeriesOfItsKindsOnly(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(4, func(n int) { s.report("se-one", 7, requested(uint64(100*(n+1)))) })
	for _, c := range []struct {
		kinds           []series.Kind
		service, engine bool
	}{
		{nil, true, true},
		{[]series.Kind{}, false, false},
		{[]series.Kind{series.VirtualService}, true, false},
		{[]series.Kind{series.Engine, series.Controller}, false, true},
		{[]series.Kind{series.VirtualService, series.Engine}, true, true},
	} {
		sight := series.Sight{Kinds: c.kinds}
		for text, want := range map[string]bool{
			`sum({__name__=~"weir_service_requests_total|weir_service_connections_total"})`: c.service,
			`sum(weir_service_requests_total)`:                                              c.service,
			`sum(weir_engine_workers)`:                                                      c.engine,
			`sum({__name__=~".+"})`:                                                         c.service || c.engine,
		} {
			if _, there := s.queryAs(text, sight); there != want {
				t.Errorf("%v: %s is there: %v", c.kinds, text, there)
			}
		}
		found, err := s.history.LabelValues(t.Context(), "__name__", series.Selection{Sight: sight,
			Start: s.Now.Add(-time.Hour), Stop: s.Now})
		_, scraped, failed := s.history.Expose(t.Context(), sight, "")
		for _, text := range []string{string(found.Data), string(scraped)} {
			if err != nil || failed != nil || strings.Contains(text, "weir_service_requests_total") != c.service ||
				strings.Contains(text, "weir_engine_workers") != c.engine {
				t.Errorf("%v: %s, %v %v", c.kinds, text, err, failed)
			}
		}
	}
}

func TestEachSeriesIsAboutAKindOfObject(t *testing.T) {
	for _, f := range families {
		if !sees(series.Sight{Kinds: series.Kinds}, f.name) {
			t.Errorf("%s is about no kind: give it one in prefixes", f.name)
		}
	}
}

func TestDirectoryThatCannotBeOpenedIsToldAndAnswersSaySo(t *testing.T) {
	s := &stage{Stage: fleettest.New(t)}
	file := t.TempDir() + "/metrics"
	s.must(os.WriteFile(file, nil, 0o600))
	s.dir = file + "/below"
	_, err := openTiers(s.dir, nil)
	s.history = New(Config{Dir: s.dir, Fleet: s.Fleet, Events: s.Events, Now: time.Now, Log: s.quiet()})
	told := s.Told(func() {
		s.history.health.turn("the history of metrics cannot be opened", err)
		s.history.health.turn("the history of metrics cannot be opened", err)
		s.history.health.turn("", nil)
	})
	if len(told) != 2 || !strings.Contains(told[0],
		"METRICS_NOT_KEPT CONTROLLER metrics the history of metrics cannot be") ||
		!strings.Contains(told[0], "not a directory") || !strings.Contains(told[1], "METRICS_KEPT") {
		t.Errorf("told %q", told)
	}
	if _, err := s.history.Query(t.Context(), series.Query{Text: "1"}); !errors.Is(err, series.ErrOpening) {
		t.Errorf("got %v", err)
	}
}

func TestMoreQueriesThanPlacesAreRefused(t *testing.T) {
	p := newPlaces()
	var leaves []func()
	for range queriesAtOnce {
		leave, err := p.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	entered := make(chan error, queriesQueued)
	for range queriesQueued {
		go func() {
			leave, err := p.enter(t.Context())
			if err == nil {
				leave()
			}
			entered <- err
		}()
	}
	for len(p.all) < cap(p.all) {
		time.Sleep(time.Millisecond)
	}
	if _, err := p.enter(t.Context()); !errors.Is(err, series.ErrBusy) {
		t.Errorf("got %v", err)
	}
	for _, leave := range leaves {
		leave()
	}
	for range queriesQueued {
		if err := <-entered; err != nil {
			t.Error(err)
		}
	}
}

func TestEnginesHaveTheirLoad(t *testing.T) {
	s := newStage(t)
	s.report("se-two", 8, requested(5))
	s.pass(1, func(n int) { s.report("se-two", 8, requested(uint64(150*(n+1)))) })
	for metric, want := range map[string]float64{"se_stats.max_num_vs": 1, "se_stats.avg_cpu_usage": 50} {
		answers, err := s.history.Ask(t.Context(), []series.Question{{
			Metric: metric, Kind: series.Engine, UUIDs: []string{"se-two"}, Tenant: adminTenant, Step: 15 * time.Second,
			Start: s.Now, Stop: s.Now,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if len(answers[0].Series) != 1 || answers[0].Series[0].Points[0].Null ||
			answers[0].Series[0].Points[0].Value != want {
			t.Errorf("%s: %+v, want %v", metric, answers, want)
		}
	}
}

func TestTheNumberOfEnginesThatServeHasHistory(t *testing.T) {
	s := newStage(t)
	for count, engine := range []string{"se-one", "se-two"} {
		s.Serve(engine)
		s.report(engine, 7, requested(0))
		s.pass(2, func(n int) { s.report(engine, 7, requested(uint64(100*n))) })
		s.wantQuery(`weir_service_engines{uuid="vs-1"}`, float64(count+1))
	}
}
