package metrics

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

// stage is a history of the fleet of fleettest: the virtual service vs-1 of tenant "blue", and pool-1 of two servers.
type stage struct {
	*fleettest.Stage
	dir     string
	history *History
	tiers   *tiers
	scores  Scores
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: fleettest.New(t), dir: t.TempDir()}
	s.own("/api/tenant/tenant-blue")
	s.connect()
	s.begin()
	return s
}

// connect connects se-one, which served before, and se-two, which is new.
func (s *stage) connect() {
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: 9})
	s.Connected("se-two", &enginev1.Hello{Status: fleettest.Running})
}

// own gives the virtual service and the pool to a tenant.
func (s *stage) own(tenant string) {
	s.VS.TenantRef, s.WebPool.TenantRef = tenant, tenant
	s.Want(11, "vs-1", "pool-1")
}

// begin opens the history, as a controller does when it starts.
func (s *stage) begin() {
	s.Helper()
	s.history = New(Config{
		Dir: s.dir, Fleet: s.Fleet, Scores: s.scores, Events: s.Events, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return s.Now }, TenantName: func(uuid string) string { return "name of " + uuid },
	})
	opened, err := openTiers(s.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	s.tiers = opened
	s.history.set(opened)
	s.Cleanup(func() { s.end() })
}

func (s *stage) end() {
	s.Helper()
	if s.tiers == nil {
		return
	}
	s.history.set(nil)
	if err := s.tiers.close(); err != nil {
		s.Error(err)
	}
	s.tiers = nil
}

// restart ends the controller and starts it again: its fleet knows nothing then.
func (s *stage) restart() {
	s.Helper()
	s.end()
	now := s.Now
	s.Stage = fleettest.New(s.T)
	s.Now = now
	s.own("/api/tenant/tenant-blue")
	s.connect()
	s.begin()
}

// turn is how long an engine of a stage takes to count: three collections.
const turn = 15 * time.Second

// pass lets time pass, with collections. At the end of each turn, count is called with its number.
func (s *stage) pass(turns int, count func(n int)) {
	for n := range turns {
		next := s.Now.Truncate(turn).Add(turn)
		for s.Now.Truncate(retention.CollectEvery).Add(retention.CollectEvery).Before(next) {
			s.collect(1, nil)
		}
		s.collect(1, func(int) {
			if count != nil {
				count(n)
			}
		})
	}
}

// collect lets time pass, with collections. Before each, count is called with its number.
func (s *stage) collect(collections int, count func(n int)) {
	for n := range collections {
		s.Now = s.Now.Truncate(retention.CollectEvery).Add(retention.CollectEvery)
		if count != nil {
			count(n)
		}
		s.history.tick(s.tiers, s.Now)
	}
}

// report has a process of an engine report what it has counted.
func (s *stage) report(engine string, pid uint32, counters *dataplanev1.VirtualServiceCounters,
	servers ...*dataplanev1.ServerCounters) {
	sample := &dataplanev1.Sample{Pid: pid, UnixMs: uint64(s.Now.UnixMilli()), Workers: 2, RssBytes: 1 << 20,
		CpuUserUs: uint64(s.Now.Sub(fleettest.Clock).Microseconds()), Servers: servers}
	if counters != nil {
		counters.Uuid = "vs-1"
		sample.VirtualServices = append(sample.VirtualServices, counters)
	}
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
}

func requested(count uint64) *dataplanev1.VirtualServiceCounters {
	return &dataplanev1.VirtualServiceCounters{RequestsTotal: count, ConnectionsTotal: count / 10,
		ResponsesTotal: []uint64{0, count, 0, 0, 0}}
}

// query answers with the only value of a query; ok is false if there is none.
func (s *stage) query(text, tenant string) (value float64, ok bool) {
	s.Helper()
	return s.queryAs(text, series.Sight{Tenant: tenant})
}

// queryAs is query for somebody who sees a part of the series.
func (s *stage) queryAs(text string, sight series.Sight) (value float64, ok bool) {
	s.Helper()
	found, err := s.history.Query(s.Context(), series.Query{Text: text, Sight: sight, Start: s.Now, Stop: s.Now})
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	var answer struct{ Result []struct{ Value [2]any } }
	if err := json.Unmarshal(found.Data, &answer); err != nil {
		s.Fatalf("%s: %v in %s", text, err, found.Data)
	}
	if len(answer.Result) == 0 {
		return 0, false
	}
	if len(answer.Result) > 1 {
		s.Fatalf("%s: %s", text, found.Data)
	}
	value, err = strconv.ParseFloat(answer.Result[0].Value[1].(string), 64)
	if err != nil {
		s.Fatal(err)
	}
	return value, true
}

func (s *stage) wantQuery(text string, want float64) {
	s.Helper()
	if got, _ := s.query(text, ""); got < want-1e-6 || got > want+1e-6 {
		s.Errorf("%s is %v, want %v", text, got, want)
	}
}

// points are the values of a metric of vs-1; nil is null.
func (s *stage) points(metric string, step time.Duration, count int) (values []*float64) {
	s.Helper()
	answers, err := s.history.Ask(s.Context(), []series.Question{{
		Metric: metric, Kind: series.VirtualService, UUIDs: []string{"vs-1"}, Tenant: "tenant-blue", Step: step,
		Start: s.Now.Add(-time.Duration(count-1) * step), Stop: s.Now,
	}})
	if err != nil {
		s.Fatalf("%s: %v", metric, err)
	}
	if len(answers) != 1 || len(answers[0].Series) > 1 {
		s.Fatalf("%s: %v", metric, answers)
	}
	if len(answers[0].Series) == 0 {
		return make([]*float64, count)
	}
	for _, point := range answers[0].Series[0].Points {
		if point.Null {
			values = append(values, nil)
		} else {
			values = append(values, &point.Value)
		}
	}
	return values
}

// exposed is what a tenant scrapes.
func (s *stage) exposed(tenant string) string {
	s.Helper()
	_, text, err := s.history.Expose(s.Context(), series.Sight{Tenant: tenant}, "")
	s.must(err)
	return string(text)
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (*stage) quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
