package unusual

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/series"
)

// does is what a server does: answers per second with a mean time, errors and failures per second, open connections.
type does struct {
	rate, errors, failures uint64
	ms                     uint64
	open                   uint64
}

// usual is an ordinary server.
var usual = does{rate: 50, ms: 20, open: 100}

// gym is a fleet whose one engine counts what servers of "web-pool" do.
type gym struct {
	*fleettest.Stage
	watch *Watch
	total map[string]*dataplanev1.ServerCounters
}

func newGym(t *testing.T) *gym {
	s := fleettest.New(t)
	g := &gym{Stage: s, total: map[string]*dataplanev1.ServerCounters{}}
	g.watch = New(s.Fleet, now{}, s.Events, func() time.Time { return s.Now })
	s.Serve("se-one")
	return g
}

// pass lets minutes pass, in which servers do something. It returns what is told.
func (g *gym) pass(minutes int, servers map[string]does) []string {
	return g.Told(func() {
		for range minutes {
			for range 3 { // the times of a server are kept each 20 s
				g.Now = g.Now.Add(20 * time.Second)
				g.count(servers)
			}
			g.watch.Look(g.Now)
		}
	})
}

func (g *gym) count(servers map[string]does) {
	sample := &dataplanev1.Sample{Pid: 7, Workers: 1, UnixMs: uint64(g.Now.UnixMilli())}
	for id, does := range servers {
		was, answers := g.total[id], 20*does.rate
		bucket := uint32(32)
		h := &dataplanev1.Histogram{First: bucket, SumTicks: was.GetAppResponse().GetSumTicks() +
			answers*does.ms<<20/1000, Counts: []uint32{uint32(answers)}}
		if counts := was.GetAppResponse().GetCounts(); len(counts) > 0 {
			h.Counts[0] += counts[0]
		}
		responses := []uint64{0, answers - 20*does.errors, 0, 0, 20 * does.errors}
		for class, count := range was.GetResponsesTotal() {
			responses[class] += count
		}
		g.total[id] = &dataplanev1.ServerCounters{PoolUuid: "pool-1", ServerId: id, Up: true,
			RequestsTotal:   was.GetRequestsTotal() + answers,
			FailuresTotal:   was.GetFailuresTotal() + 20*does.failures,
			OpenConnections: does.open, ResponsesTotal: responses, AppResponse: h}
	}
	for _, row := range g.total {
		sample.Servers = append(sample.Servers, row)
	}
	slices.SortFunc(sample.Servers, func(a, b *dataplanev1.ServerCounters) int {
		return strings.Compare(a.ServerId, b.ServerId)
	})
	g.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
}

func both(one, two does) map[string]does {
	return map[string]does{"10.0.0.1:80": one, "10.0.0.2:80": two}
}

func TestTellsOfAServerThatIsUnlikeItsLastHourAndOfItsPool(t *testing.T) {
	for name, c := range map[string]struct {
		is     does
		metric string
		says   string
	}{
		"slow": {does{rate: 50, ms: 400, open: 100}, "l7_server.avg_application_response_time",
			"mean time of answers is 400"},
		"errors": {does{rate: 50, ms: 20, open: 100, errors: 10}, "l7_server.avg_resp_5xx",
			"responses with 5xx is 10"},
		"failures": {does{rate: 50, ms: 20, open: 100, failures: 5},
			"l4_server.avg_errored_connections", "requests is 5"},
		"open": {does{rate: 50, ms: 20, open: 900}, "l4_server.avg_open_conns", "open connections is 900"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGym(t)
			if told := g.pass(90, both(usual, usual)); len(told) > 0 {
				t.Fatalf("usual: %q", told)
			}
			told := g.pass(6, both(usual, c.is))
			if len(told) != 2 || !strings.HasPrefix(told[0], "ANOMALY POOL web-pool ") ||
				!strings.Contains(told[1], "ANOMALY POOL web-pool server 10.0.0.2:80: ") ||
				!strings.Contains(told[1], c.says) || !strings.Contains(told[1], "σ above the last hour's habit of") {
				t.Fatalf("told %q", told)
			}
			all := g.watch.Anomalies("pool-1")
			if len(all) != 2 || all[0].Server != "" || all[1].Server != "10.0.0.2:80" || all[1].Metric != c.metric {
				t.Errorf("anomalies are %+v", all)
			}
			unusual := g.watch.Unusual("pool-1")
			if len(unusual) != 1 || unusual[0].Metric != c.metric || unusual[0].High != (name == "open") {
				t.Errorf("the score takes points for %+v", unusual)
			}
			_, high, known := g.watch.Band("pool-1", "10.0.0.1:80", c.metric, g.Now)
			_, all2, known2 := g.watch.Band("pool-1", "", c.metric, g.Now)
			if !known || !known2 || (high > all2 && name == "open") {
				t.Errorf("the bands end at %v and %v, %v, %v", high, all2, known, known2)
			}
			told = g.pass(12, both(usual, usual))
			if len(told) != 2 || !strings.HasPrefix(told[1], "ANOMALY_ENDED POOL web-pool server 10.0.0.2:80: ") {
				t.Errorf("it ends: %q", told)
			}
		})
	}
}

func TestServersThatGetBetterAreNotUnusual(t *testing.T) {
	g := newGym(t)
	bad := does{rate: 50, ms: 200, open: 100, errors: 20, failures: 10}
	g.pass(90, both(usual, bad))
	if told := g.pass(10, both(usual, usual)); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

func TestSaysNothingOfPoolsWithLittleTrafficOrAfterChanges(t *testing.T) {
	slow := does{rate: 50, ms: 400, open: 100}
	g := newGym(t)
	g.pass(90, both(does{rate: 3, ms: 20}, does{rate: 3, ms: 20}))
	if told := g.pass(10, both(does{rate: 3, ms: 400}, does{rate: 3, ms: 400})); len(told) > 0 {
		t.Errorf("little traffic: %q", told)
	}
	g = newGym(t)
	g.pass(90, both(usual, usual))
	g.WebPool.Description = "another one"
	g.Want(12, "vs-1", "pool-1")
	if told := g.pass(9, both(slow, slow)); len(told) > 0 {
		t.Errorf("after a change: %q", told)
	}
	g = newGym(t)
	g.Judge("se-one", "10.0.0.1:80", true, "")
	g.Judge("se-one", "10.0.0.2:80", true, "")
	g.pass(90, both(usual, usual))
	g.Judge("se-one", "10.0.0.1:80", false, "refused")
	if told := g.pass(9, map[string]does{"10.0.0.2:80": slow}); len(told) > 0 {
		t.Errorf("after a server went down: %q", told)
	}
	g = newGym(t)
	g.WebPool.Analytics = schema.Defaults[kinds.AnalyticsProfile]()
	g.WebPool.Analytics.EnableAdvancedAnalytics = false
	g.Want(12, "vs-1", "pool-1")
	g.pass(90, both(usual, usual))
	if told := g.pass(10, both(slow, slow)); len(told) > 0 {
		t.Errorf("switched off: %q", told)
	}
}

func TestServersOfALargePoolHaveNoHabitsOfTheirOwn(t *testing.T) {
	g := newGym(t)
	g.WebPool.Analytics = schema.Defaults[kinds.AnalyticsProfile]()
	g.WebPool.Analytics.ServersScored = 1
	g.Want(12, "vs-1", "pool-1")
	g.pass(90, both(usual, usual))
	told := g.pass(6, both(usual, does{rate: 50, ms: 400, open: 100}))
	if len(told) != 1 || !strings.HasPrefix(told[0], "ANOMALY POOL web-pool mean time of answers is 210") {
		t.Errorf("told %q", told)
	}
	if g.watch.pools["pool-1"].known() > 0 {
		t.Errorf("servers are %v", g.watch.pools["pool-1"].servers)
	}
}

func TestServersThatNeverCountedHaveNoHabits(t *testing.T) {
	g := newGym(t)
	g.pass(3, both(usual, does{}))
	if p := g.watch.pools["pool-1"]; p == nil || p.known() != 1 {
		t.Errorf("the pool is %+v", p)
	}
	g.Now = g.Now.Add(serverIdleMost)
	g.pass(2, both(does{}, does{}))
	if p := g.watch.pools["pool-1"]; p == nil || p.known() != 0 {
		t.Errorf("two hours later it is %+v", p)
	}
	g.Now = g.Now.Add(idleMost)
	g.watch.Look(g.Now)
	if len(g.watch.pools) > 0 {
		t.Error("two days later it still has habits")
	}
}

func TestAPoolThatIsDeletedEndsItsAnomalies(t *testing.T) {
	g := newGym(t)
	g.pass(90, both(usual, usual))
	g.pass(6, both(usual, does{rate: 50, ms: 400, open: 100}))
	told := g.Told(func() {
		left := *g.State.Model
		left.Pools, left.VirtualServices = nil, nil
		state := g.State
		state.Model = &left
		g.Observe(state)
		g.watch.Look(g.Now)
	})
	ended := slices.DeleteFunc(told, func(text string) bool { return !strings.HasPrefix(text, "ANOMALY_ENDED POOL") })
	if len(ended) != 2 || len(g.watch.pools) > 0 {
		t.Errorf("told %q", told)
	}
}

func TestManyServersAtOnceAreToldOneAfterTheOther(t *testing.T) {
	g := newGym(t)
	g.WebPool.Members = nil
	calm, slow := map[string]does{}, map[string]does{}
	for n := range 12 {
		member := fleettest.Member(fmt.Sprintf("10.0.0.%d", n+1))
		g.WebPool.Members = append(g.WebPool.Members, member)
		calm[member.ID], slow[member.ID] = usual, does{rate: 50, ms: 400, open: 100}
	}
	g.Want(12, "vs-1", "pool-1")
	g.pass(90, calm)
	told := g.pass(3, slow)
	if len(told) != 1+toldMost || len(g.watch.Anomalies("pool-1")) != 13 {
		t.Errorf("told %q", told)
	}
	if told = g.pass(2, slow); len(told) != 7 {
		t.Errorf("told next %q", told)
	}
	if told = g.pass(12, calm); len(told) != 13 {
		t.Errorf("at the end %q", told)
	}
}

func TestHabitsOfPoolsComeBackFromTheHistory(t *testing.T) {
	g := newGym(t)
	past := func(_ context.Context, questions []series.Question) ([]series.Answer, error) {
		q := questions[0]
		if q.Kind != series.Pool || q.Metric != "l4_server.avg_open_conns" || q.Server != "" {
			t.Errorf("asked %+v", q)
		}
		one := series.Series{UUID: "pool-1"}
		for at := q.Start; !at.After(q.Stop); at = at.Add(q.Step) {
			one.Points = append(one.Points, series.Point{At: at, Value: 200})
		}
		return []series.Answer{{Series: []series.Series{one}}}, nil
	}
	if err := g.watch.recall(t.Context(), past, series.Pool, ofPools, []string{"pool-1"}); err != nil {
		t.Fatal(err)
	}
	told := g.pass(12, both(usual, does{rate: 50, ms: 20, open: 900}))
	if len(told) != 1 || !strings.HasPrefix(told[0], "ANOMALY POOL web-pool open connections is 1000") {
		t.Errorf("told %q", told)
	}
}

// BenchmarkTwentyThousandServers looks at 5,000 pools of 4 servers each on 64 engines, all of which have requests. It
// reports what habits keep in memory, with the bands of an hour.
func BenchmarkTwentyThousandServers(b *testing.B) {
	for _, active := range []int{1, 10} {
		b.Run(fmt.Sprintf("one in %d is active", active), func(b *testing.B) {
			c := fleettest.NewCrowd(b, 64, 5000, active)
			watch := New(c.Fleet, now{}, c.Events, func() time.Time { return c.Now })
			minute := func() {
				c.Now = c.Now.Add(time.Minute)
				c.Pass()
				watch.Look(c.Now)
			}
			for range 35 {
				minute()
			}
			for b.Loop() {
				b.StopTimer()
				c.Now = c.Now.Add(time.Minute)
				c.Pass()
				b.StartTimer()
				watch.Look(c.Now)
			}
			servers := 0
			for _, p := range watch.pools {
				servers += p.known()
			}
			kept := fleettest.InUse()
			watch.pools = nil
			kept -= fleettest.InUse()
			runtime.KeepAlive(c)
			runtime.KeepAlive(watch)
			b.ReportMetric(float64(kept)/(1<<20), "MiB-kept")
			b.ReportMetric(float64(servers), "servers")
		})
	}
}
